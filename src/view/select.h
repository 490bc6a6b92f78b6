// Which attentions, layers and heads of a record are written as data.
#pragma once

#include "view/reduce.h"

namespace fovea {

struct RecordSelection {
  bool one_attention = false;  // only options.attention, of options.member; else all of the record
  bool combined = false;       // layers and heads as one matrix, as options.heads says
  ReduceOptions options;       // layer and head select, 0 for all
};

// Leaves out all else. `reduction` of each attention says what is left. Error, with what there is, when the record has
// no such attention, layer or head.
void select(AttentionRecord& record, const RecordSelection& selection);

}  // namespace fovea
