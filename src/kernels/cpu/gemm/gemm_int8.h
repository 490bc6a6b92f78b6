// GEMM with 8-bit weights, y = x weight^T + bias, for decoding, which is bound by reading weights. A weight [n,k] is
// quantised to integers from -127 to 127 with one scale per row, the largest magnitude of the row / 127; each row of x
// is quantised likewise in each call. Sums are exact in int32 and scaled in f32. An element of y therefore depends on
// its row of x and its row of the weight alone: neither the instruction set, nor the number of threads, nor the other
// rows and columns change its bits.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/kernels.h"

namespace fovea::cpu {

// kPlain is C++ without intrinsics and specifies the others. kVnni256 is the kernel of kAvxVnni with the encoding of
// AVX-512, and kEmulatedAmx that of kAmx on tiles emulated in plain C++: tests run them where the CPU lacks the
// original. kWasm is that of web pages; for want of FMA it rounds a product before it adds the bias.
enum class Int8Kernel : uint8_t { kPlain, kAvx2, kAvxVnni, kVnni256, kAvx512Vnni, kAmx, kEmulatedAmx, kWasm };
constexpr Int8Kernel kInt8Kernels[] = {Int8Kernel::kPlain,       Int8Kernel::kAvx2,       Int8Kernel::kAvxVnni,
                                       Int8Kernel::kVnni256,     Int8Kernel::kAvx512Vnni, Int8Kernel::kAmx,
                                       Int8Kernel::kEmulatedAmx, Int8Kernel::kWasm};

std::string_view name_of(Int8Kernel kernel);
// Returns whether this machine and its operating system can run the kernel, and FOVEA_ISA allows it.
bool available(Int8Kernel kernel);
// Returns the kernel in use: the fastest available one, or the one that was set.
Int8Kernel int8_kernel();
// Without a value, the fastest one is used again. No other thread may be computing.
void set_int8_kernel(std::optional<Int8Kernel> kernel);

// Returns whether matmul_int8 supports a GEMM: kInt8, one f32 matrix by an f32 weight stored [n,k], without
// accumulation, n and k at least 16.
bool in_int8(const MatmulArgs& args);

// Computes a GEMM of any supported size. k is at most 2^17, so that no sum overflows int32. A row that contains an
// infinity or a NaN gives NaN; a row whose largest magnitude is below 2^-100 counts as zero.
void matmul_int8(const MatmulArgs& args);

}  // namespace fovea::cpu
