// Selecting rows of the tensors of a decoder: beams that continue from others, sentences that leave the batch.
#pragma once

#include <span>
#include <vector>

#include "models/encoder.h"

namespace fovea {

// Rows of the first axis, in a new order: [N,...], i32 of any shape -> [ids,...].
Var select_rows(const Var& x, const Tensor& rows);
void select_rows(std::vector<State>& states, const Tensor& rows);
// The rows k*B+b of all beams of some sentences, i32 [K,B'].
Tensor rows_of_sentences(const Tensor& sentences, int64_t beams, int64_t batch);
// The part of a memory that belongs to some sentences.
Memory select_sentences(const Memory& memory, const Tensor& sentences);
// Rows of token ids, i32 [B,S] -> [B',S].
Tensor select_ids(const Tensor& ids, const Tensor& sentences);
// Each sentence's row once for every beam: [B,...] -> [K*B,...].
Var repeat_rows(const Var& x, int64_t times);

// A copy of some rows of a weight [V,...], stored in 8 bits if the weight is. Decoding steps use it as a weight of its
// own, so it is not in an arena and its packed forms are cached.
Tensor copy_rows(const Tensor& weight, std::span<const int32_t> rows);

}  // namespace fovea
