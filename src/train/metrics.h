// What a model is judged by while it trains.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/segment.h"

namespace fovea {

std::vector<std::string> validation_metric_names();  // "loss" first
bool higher_is_better(std::string_view metric);
// Of decoded text; not for "loss".
double validation_score(std::string_view metric, std::span<const Segment> segments, std::string_view tokenizer);

}  // namespace fovea
