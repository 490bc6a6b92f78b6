// The metrics by which models are validated during training.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/segment.h"

namespace fovea {

std::vector<std::string> validation_metric_names();      // "loss" first
std::vector<std::string> classification_metric_names();  // likewise, of a classifier
std::vector<std::string> answer_metric_names();          // of reading comprehension
std::vector<std::string> caption_metric_names();         // of captions
bool higher_is_better(std::string_view metric);
// The score of decoded text by any metric but "loss".
double validation_score(std::string_view metric, std::span<const Segment> segments, std::string_view tokenizer);

}  // namespace fovea
