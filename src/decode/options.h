// Functions of the search options alone.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "decode/search.h"
#include "store/model_folder.h"

namespace fovea {

// The search of a model of a task where the user does not choose: what was best on the validation part of the shipped
// model of the task. Greedy for the tasks that are not mentioned.
SearchOptions default_search(std::string_view task);
// The search of a model: that of its task, with the beam and the length penalty that its folder stores.
SearchOptions default_search(const FolderConfig& config);
// Source tokens above which a line is split into sentences (decode/paragraphs.h) where the user does not choose: what
// the model's folder stores, or the default of its task; 0 for never.
int64_t default_split_above(const FolderConfig& config);

// Throws an Error if the options are invalid or contradict each other. `name_of` returns how the user calls the option
// of a key, for instance "--top-k" for "top_k"; without it, the keys are named.
using OptionName = std::function<std::string(std::string_view key)>;
void check_options(const SearchOptions& options, const OptionName& name_of = {});

std::string search_name(const SearchOptions& options);  // "greedy", "beam 5", "sampled"

// The number of hypotheses of a sentence that are decoded at the same time.
inline int64_t beams_of(const SearchOptions& options) { return options.sample ? options.nbest : options.beam; }

// The maximum number of target tokens of sentence `row`, the end mark included.
int64_t max_target_length(const SearchOptions& options, int64_t source_length, int64_t row);

// ((5+n)/6)^alpha
double length_penalty(const SearchOptions& options, int64_t length);

}  // namespace fovea
