// Word alignments for guided attention (Chen et al. 2016, "Guided alignment training for topic-aware
// neural machine translation"). A file gives them between words; attention needs them between tokens.
#pragma once

#include <string>
#include <vector>

#include "evaluate/alignment.h"
#include "tensor/tensor.h"
#include "text/corpus.h"

namespace fovea {

class Alignments {
 public:
  // The file has a line for each line of text: "0-0 1-2 ...", source word - target word, counted from 0 as `fovea
  // align` does (alignment_words). Only the lines of pairs that are in the corpus are parsed.
  Alignments(const std::string& path, const ParallelLines& lines, const ParallelCorpus& corpus,
             const Vocabulary& source, const Vocabulary& target);

  // The attention weights that the alignments ask for, [B,1,T,S]: a row sums to 1, or to 0 if its target token is
  // aligned to nothing. `delay` is 0 if a token is aligned by the step that predicts it, 1 if by the step after it.
  Tensor weights(const std::vector<int64_t>& rows, int64_t target_time, int64_t source_time, bool reversed,
                 int64_t delay, const ParallelCorpus& corpus, Device device) const;

 private:
  std::vector<Alignment> links_;  // of each pair of the corpus, between tokens
};

}  // namespace fovea
