// GEMM with 8-bit weights, y = x weight^T + bias, for decoding, which is bound by reading weights. A weight [n,k] is
// quantised once to integers from -127 to 127 with one scale per row, the largest magnitude of the row / 127; each row
// of x is quantised likewise in each call. Sums are exact in int32 and scaled in f32. An element of y therefore depends
// on its row of x and its row of the weight alone: neither the number of threads nor the other rows and columns change
// its bits.
#pragma once

#include "kernels/kernels.h"

namespace fovea::cpu {

// Returns whether int8_matmul supports a GEMM (kInt8, one f32 matrix by an f32 weight stored [n,k], without
// accumulation), this machine has the instructions (AVX-512 VNNI), and it is faster.
bool in_int8(const MatmulArgs& args);

// Computes a GEMM of any supported size on a machine that has the instructions. k is at most 2^17, so that no sum
// overflows int32. A row that contains an infinity or a NaN gives NaN; a row whose largest magnitude is below 2^-100
// counts as zero.
void matmul_int8(const MatmulArgs& args);

}  // namespace fovea::cpu
