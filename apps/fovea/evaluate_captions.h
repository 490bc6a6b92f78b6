// fovea evaluate for captions of images: BLEU-1 to 4, ROUGE-L and CIDEr-D against the references of each image.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "evaluate/caption_set.h"
#include "fovea/flags.h"

namespace fovea::app {

struct CaptionTest {
  std::string hypotheses, references;  // as evaluate/caption_set.h reads them
  std::string documents;               // captions whose document frequencies CIDEr-D uses; empty: the references
  bool json = false;
};

// Returns the exit status.
int evaluate_captions(const CaptionTest& test);

// The same of a model's own captions; with boxes, also the pointing game (evaluate/pointing.h) of its attention while
// it is forced to write the captions of people.
struct CaptionerTest {
  std::string references, images, boxes, output, documents;
  bool json = false;
  SearchOptions search;
};
int evaluate_captioner(const CaptionerTest& test, const PredictorFlags& flags);

// The scores of captions that are already read or written by a model; `documents` is a file as above.
nlohmann::ordered_json captions_json(std::span<const Segment> segments, const std::string& documents);
std::string captions_text(const nlohmann::ordered_json& scores);  // the same for people

}  // namespace fovea::app
