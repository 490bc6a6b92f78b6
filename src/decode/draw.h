// One word by lot.
#pragma once

#include <vector>

#include "decode/search.h"

namespace fovea {

// Draws in proportion to p^(1/temperature), from the likeliest that have `top_p` of it. `lot` lies in [0,1).
// Reorders the choices, of which there is at least one.
NextWord draw(std::vector<NextWord>& choices, const SearchOptions& options, double lot);

// Of one step of one sample.
double lot_of(const SearchOptions& options, int64_t sentence, int64_t sample, int64_t step);

}  // namespace fovea
