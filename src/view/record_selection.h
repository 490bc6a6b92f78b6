// Selects the attentions, layers and heads of a record that are written as data.
#pragma once

#include "view/reduce.h"

namespace fovea {

struct RecordSelection {
  bool one_attention = false;  // retains only options.attention of options.member; else all attentions
  bool combined = false;       // reduces layers and heads to one matrix, as options.heads says
  ReduceOptions options;       // layer and head select one; 0 selects all
};

// Removes everything that is not selected; `reduction` of each attention then states what is left. Throws an Error that
// lists what the record has if it does not have the attention, layer or head asked for.
void select(AttentionRecord& record, const RecordSelection& selection);

}  // namespace fovea
