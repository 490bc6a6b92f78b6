// From attention to alignment: the words a record's attention says belong together.
#pragma once

#include <string>

#include "evaluate/alignment.h"
#include "view/reduce.h"

namespace fovea {

struct AlignOptions {
  std::string method = "argmax";
  double threshold = 0.2;
  std::string count = "auto";

  void describe(Fields& fields);
};

// Of the cross attention, reduced as `heads` says. Words are counted by white space, as other tools do; in text of a
// script without spaces every token of the record counts, unless the text separates its words by spaces. The end marks
// are aligned to nothing.
Alignment align(const AttentionRecord& record, const ReduceOptions& heads, const AlignOptions& options);

}  // namespace fovea
