// Writes the results of jobs as JSON, of bounded size.
#pragma once

#include <string>

#include "fovea/serve/hosted.h"
#include "fovea/serve/job.h"
#include "fovea/serve/json.h"
#include "fovea/serve/requests.h"

namespace fovea::app {

constexpr int64_t kMostAnswerBytes = 48'000'000;

// Refuses, before anything is computed, texts whose self-attention alone is too large for an answer.
void check_weights_read(const Job& job, const Hosted& model, Attention attention);

// These throw an ApiError (413) that names the sizes if the answer would be too large.
std::string translations_json(const Hosted& model, const Job& job, Attention attention, double milliseconds);
std::string chat_json(const Hosted& model, const Job& job, Attention attention, double milliseconds);
std::string classifications_json(const Hosted& model, const Job& job, Attention attention, double milliseconds);
std::string answers_json(const Hosted& model, const Job& job, Attention attention, double milliseconds);
std::string captions_json(const Hosted& model, const Job& job, Attention attention, double milliseconds);
std::string record_json(const Hosted& model, const Job& job, Attention attention);
std::string score_json(const Hosted& model, const Job& job);

// Events of a stream.
Json source_json(const Hosted& model, const TokenisedLine& source);
Json step_json(int64_t place, const RecordedStep& step, Attention attention);

}  // namespace fovea::app
