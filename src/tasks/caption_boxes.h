// Boxes for guided attention over pictures (Liu et al. 2017, "Attention correctness in neural image captioning"): while
// a phrase is predicted, attention is pulled towards the boxes of what the phrase names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "evaluate/boxes.h"
#include "tensor/tensor.h"
#include "text/corpus.h"
#include "vision/augment.h"

namespace fovea {

// The share of each cell of a grid over a picture that the boxes cover, row-major from the top left. Where boxes
// overlap in a cell, the largest share counts.
std::vector<float> covered_cells(const std::vector<Box>& boxes, int64_t rows, int64_t columns);

// The boxes as they lie in a changed picture, whose original is width x height. Those outside of the crop are left out.
std::vector<Box> changed_boxes(const std::vector<Box>& boxes, const Augmentation& change, int64_t width,
                               int64_t height);

class CaptionBoxes {
 public:
  // The file is that of read_boxes. A caption has boxes if the file has one with the same picture and text. `lines` has
  // the pictures' names and the captions.
  CaptionBoxes(const std::string& path, const ParallelLines& lines, const ParallelCorpus& corpus,
               const Vocabulary& vocabulary);

  int64_t captions() const { return captions_; }  // that have boxes

  // The attention weights that the boxes ask for, [B,1,T,rows*columns]: the covered cells share 1 by how much of them
  // is covered; zeros for a token without a box. `delay` is as in Alignments. Without augmentation, `changes` is empty;
  // with it, they were drawn for pictures of side x side.
  Tensor weights(std::span<const int64_t> captions, int64_t target_time, int64_t rows, int64_t columns, int64_t delay,
                 std::span<const Augmentation> changes, int64_t side, Device device) const;

 private:
  struct Phrase {
    int64_t from = 0, to = 0;  // its tokens
    std::vector<Box> boxes;
  };
  std::vector<std::vector<Phrase>> phrases_;  // of each caption of the corpus
  int64_t captions_ = 0;
};

}  // namespace fovea
