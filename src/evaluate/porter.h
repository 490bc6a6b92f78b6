// The stemmer of Porter (1980), "An algorithm for suffix stripping", with the later changes that NLTK has by default,
// so that ROUGE with stemming equals Google's rouge_score.
#pragma once

#include <string>
#include <string_view>

namespace fovea {

// The word must be in lower case. A word of one or two letters is its own stem.
std::string porter_stem(std::string_view word);

}  // namespace fovea
