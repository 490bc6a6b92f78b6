// Word alignments for guided attention (Chen et al. 2016, "Guided alignment training for topic-aware
// neural machine translation"): given between words, needed between pieces.
#pragma once

#include <string>
#include <vector>

#include "evaluate/alignment.h"
#include "tensor/tensor.h"
#include "text/corpus.h"

namespace fovea {

class Alignments {
 public:
  // A line of the file for each line of text: "0-0 1-2 ...", source word - target word, from 0. Only the
  // pairs that the corpus kept are read further.
  Alignments(const std::string& path, const ParallelLines& lines, const ParallelCorpus& corpus,
             const Vocabulary& source, const Vocabulary& target);

  // Whose rows sum to 1, or to 0 where a piece is aligned to nothing: [B,1,T,S] for the batch.
  Tensor of(const std::vector<int64_t>& rows, int64_t target_time, int64_t source_time, bool reversed,
            const ParallelCorpus& corpus, Device device) const;

 private:
  std::vector<Alignment> links_;  // of each pair of the corpus, between pieces
};

}  // namespace fovea
