// The metrics of image captions, equal to those of the usual scripts (coco-caption) in the words of caption_words():
// BLEU-1 to BLEU-4 of the whole set with the closest reference length and no smoothing; ROUGE-L, the mean of F with
// beta = 1.2 of the best precision and the best recall over the references; CIDEr-D (evaluate/cider.h).
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/bleu.h"
#include "evaluate/segment.h"

namespace fovea {

// All times 100, as papers print them. The scripts print shares: their CIDEr of 0.61 is 61 here.
struct CaptionScore {
  std::array<double, kBleuOrder> bleu{};  // BLEU-1 to BLEU-4
  double rouge_l = 0;
  double cider_d = 0;  // up to 1000, because the metric itself is up to 10

  std::string line() const;                     // "BLEU-1/2/3/4 = 67.0/44.8/29.9/19.5  ROUGE-L = 45.6  CIDEr-D = 55.1"
  double named(std::string_view metric) const;  // one of caption_metrics()
};

std::vector<std::string> caption_metrics();  // "bleu-1" ... "bleu-4", "rouge-l", "cider-d"

// The segments are the images. CIDEr-D's document frequencies are those of the references, or of `documents`: the
// captions of each of other images.
CaptionScore caption_score(std::span<const Segment> segments, std::span<const std::vector<std::string>> documents = {});

}  // namespace fovea
