// Pretrained word vectors in the text formats of word2vec (a first line "count size", then a word and its numbers on
// each line) and GloVe (the same without the first line). Plain or gzip.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace fovea {

// Calls `take` with each word and its vector. Error that names file and line if a line is malformed or does not have
// `size` numbers.
void read_word_vectors(const std::string& path, int64_t size,
                       const std::function<void(std::string_view word, std::span<const float> vector)>& take);

}  // namespace fovea
