// The metrics by which a text-to-text model is validated during training.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/segment.h"

namespace fovea {

std::vector<std::string> validation_metric_names();  // "loss" first
bool higher_is_better(std::string_view metric);
// The score of decoded text by any metric but "loss".
double validation_score(std::string_view metric, std::span<const Segment> segments, std::string_view tokenizer);

}  // namespace fovea
