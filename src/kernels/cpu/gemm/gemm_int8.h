// Products with weights of 8 bits, for decoding, which is bound by reading weights: y = x weight^T + bias.
// A weight [n,k] is rounded once to whole numbers from -127 to 127, with one scale a row, the largest of
// the row / 127; so is each row of x, on the way in. Sums are exact, in int32, and scaled in f32. An
// element of y therefore depends on its row of x and its row of the weight alone: neither the number of
// threads nor the other rows and columns change its bits.
#pragma once

#include "kernels/kernels.h"

namespace fovea::cpu {

// Whether a product is of this kind (kInt8, one f32 matrix by an f32 weight stored [n,k], nothing to add
// to), this machine has the instructions (AVX-512 VNNI), and it is worth it.
bool in_int8(const MatmulArgs& args);

// A product of this kind, whatever its size, on a machine that has the instructions. k is at most 2^17,
// where a sum could pass the range of int32. A row that has an infinity or a NaN gives NaN; one whose
// largest is below 2^-100 counts as zero.
void matmul_int8(const MatmulArgs& args);

}  // namespace fovea::cpu
