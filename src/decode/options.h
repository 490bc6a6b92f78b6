// What follows from a search's options alone.
#pragma once

#include <string>

#include "decode/search.h"

namespace fovea {

// Error when options do not go together.
void check_options(const SearchOptions& options);

std::string search_name(const SearchOptions& options);  // "greedy", "beam 5", "sampled"

// Hypotheses of a sentence that are on their way at the same time.
inline int64_t beams_of(const SearchOptions& options) { return options.sample ? options.nbest : options.beam; }

// The most words the target of sentence `row` may have, the end mark counted.
int64_t longest_target(const SearchOptions& options, int64_t source_length, int64_t row);

// ((5+n)/6)^alpha
double length_penalty(const SearchOptions& options, int64_t length);

}  // namespace fovea
