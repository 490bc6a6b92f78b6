// ROUGE (Lin 2004): the overlap of a summary with its references in words (ROUGE-1), pairs of words (ROUGE-2) and the
// longest common subsequence (ROUGE-L), as F1. The scores equal those of Google's rouge_score: words are runs of the
// letters a-z and digits, in lower case. In scripts without spaces between words each character is a word, which
// rouge_score leaves out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/segment.h"

namespace fovea {

struct RougeOptions {
  bool stem = false;  // words of more than three letters are replaced by their Porter stems
};

// Means over the segments, in percent.
struct RougeScore {
  double rouge1 = 0, rouge2 = 0, rouge_l = 0;

  std::string line() const;  // "ROUGE-1 / 2 / L = 40.12 / 20.34 / 36.56"
};

// Of several references, the one with the best F1 counts, for each of the three separately.
RougeScore corpus_rouge(std::span<const Segment> segments, const RougeOptions& options = {});

std::vector<std::string> rouge_words(std::string_view text, const RougeOptions& options = {});

}  // namespace fovea
