// From attention to alignment: the words a record's attention says belong together.
#pragma once

#include <string>

#include "evaluate/alignment.h"
#include "view/reduce.h"

namespace fovea {

struct AlignOptions {
  std::string method = "argmax";
  double threshold = 0.2;
  bool pieces = false;

  void describe(Fields& fields);
};

// Of the cross attention, reduced as `heads` says. Words are counted by white space, as other tools do; the end marks
// are aligned to nothing.
Alignment align(const AttentionRecord& record, const ReduceOptions& heads, const AlignOptions& options);

}  // namespace fovea
