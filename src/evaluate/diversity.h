// Distinct-n (Li et al. 2016, "A diversity-promoting objective function for neural conversation models"): the share of
// different n-grams among all n-grams of the replies. Low values mean that a model says the same thing everywhere.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace fovea {

// In percent, 0 without any n-gram. Words are separated by white space; in scripts without spaces between words each
// character is a word.
double distinct_ngrams(std::span<const std::string> lines, size_t n);

}  // namespace fovea
