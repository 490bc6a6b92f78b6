// Reads a word alignment off the attention of a record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evaluate/alignment.h"
#include "view/reduce.h"

namespace fovea {

struct AlignOptions {
  std::string method = "argmax";
  double threshold = 0.2;
  std::string count = "auto";

  void describe(Fields& fields);
};

// Aligns words by the cross attention, reduced as `heads` says. Words are separated by white space, as for other tools;
// in a script without spaces every token counts as a word, unless the text separates its words by spaces. Special
// tokens are not aligned.
Alignment align(const AttentionRecord& record, const ReduceOptions& heads, const AlignOptions& options);
// The number of the word, from 0, that each token of a text belongs to, counted as AlignOptions::count says; -1 for
// special tokens.
std::vector<int64_t> word_numbers(const std::vector<RecordToken>& tokens, const std::string& text,
                                  const std::string& count);

}  // namespace fovea
