// The tiles of AMX: eight registers of 16 rows of 64 bytes. AmxTiles are those of the processor; EmulatedTiles are
// plain C++ and run everywhere, so that tests can run the kernels that are templates over the tile type.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

#if defined(__x86_64__)
#define FOVEA_AMX __attribute__((target("amx-tile,amx-bf16,amx-int8")))
#else
#define FOVEA_AMX
#endif

namespace fovea::cpu {

constexpr int64_t kTile = 16;  // rows of a tile
constexpr int64_t kRowBytes = 64;

// The operand of LDTILECFG: the shape of each tile.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

using TileRows = std::array<int64_t, 8>;

inline TileShapes tile_shapes(const TileRows& rows) {
  TileShapes shapes;
  for (size_t i = 0; i < rows.size(); ++i) {
    shapes.rows[i] = static_cast<uint8_t>(rows[i]);
    shapes.row_bytes[i] = rows[i] ? kRowBytes : 0;
  }
  return shapes;
}

#if defined(__x86_64__)

// The compiler's intrinsics require literal tile numbers.
struct AmxTiles {
  FOVEA_AMX void configure(const TileShapes& shapes) { asm volatile("ldtilecfg %0" ::"m"(shapes)); }
  FOVEA_AMX void release() { asm volatile("tilerelease"); }
  template <int kIndex> FOVEA_AMX void zero() { asm volatile("tilezero %%tmm%c0" ::"i"(kIndex)); }
  template <int kIndex> FOVEA_AMX void load(const void* from, int64_t row_bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row_bytes), "i"(kIndex) : "memory");
  }
  template <int kIndex> FOVEA_AMX void store(void* to, int64_t row_bytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(row_bytes), "i"(kIndex) : "memory");
  }
  template <int kSum, int kLeft, int kRight> FOVEA_AMX void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
  }
  template <int kSum, int kLeft, int kRight> FOVEA_AMX void multiply_bytes() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
  }
};

#endif

// The tiles as the processor manual describes them. Using a tile with a wrong shape faults on the processor and fails
// an assertion here.
class EmulatedTiles {
 public:
  void configure(const TileShapes& shapes) {
    shapes_ = shapes;
    for (int i = 0; i < 8; ++i) assert(shapes.rows[i] <= 16 && shapes.row_bytes[i] <= 64);
    configured_ = true;
  }
  void release() { configured_ = false; }
  template <int kIndex> void zero() {
    assert(configured_ && shapes_.rows[kIndex] > 0);
    std::memset(tiles_[kIndex], 0, sizeof tiles_[kIndex]);
  }
  template <int kIndex> void load(const void* from, int64_t row_bytes) {
    zero<kIndex>();
    const auto* row = static_cast<const std::byte*>(from);
    for (int i = 0; i < shapes_.rows[kIndex]; ++i, row += row_bytes) {
      std::memcpy(tiles_[kIndex][i], row, shapes_.row_bytes[kIndex]);
    }
  }
  template <int kIndex> void store(void* to, int64_t row_bytes) {
    assert(configured_ && shapes_.rows[kIndex] > 0);
    auto* row = static_cast<std::byte*>(to);
    for (int i = 0; i < shapes_.rows[kIndex]; ++i, row += row_bytes) {
      std::memcpy(row, tiles_[kIndex][i], shapes_.row_bytes[kIndex]);
    }
  }
  // sum[m][n] += left[m][2k] right[k][2n] + left[m][2k+1] right[k][2n+1], in f32.
  template <int kSum, int kLeft, int kRight> void multiply() { accumulate<kSum, kLeft, kRight, bf16, float>(); }
  // sum[m][n] += the four products of left[m][4k+i] and right[k][4n+i], in int32.
  template <int kSum, int kLeft, int kRight> void multiply_bytes() {
    accumulate<kSum, kLeft, kRight, int8_t, int32_t>();
  }

 private:
  template <int kSum, int kLeft, int kRight, class Factor, class Sum> void accumulate() {
    static_assert(kSum != kLeft && kSum != kRight && kLeft != kRight);
    assert(configured_ && shapes_.rows[kLeft] == shapes_.rows[kSum] &&
           shapes_.row_bytes[kSum] == shapes_.row_bytes[kRight] &&
           shapes_.row_bytes[kLeft] == 4 * shapes_.rows[kRight]);
    constexpr int kAdjacent = 4 / sizeof(Factor);
    for (int m = 0; m < shapes_.rows[kSum]; ++m) {
      for (int k = 0; k < shapes_.rows[kRight]; ++k) {
        for (int n = 0; n < shapes_.row_bytes[kSum] / 4; ++n) {
          auto sum = at<Sum>(kSum, m, n);
          for (int i = 0; i < kAdjacent; ++i) {
            sum += static_cast<Sum>(at<Factor>(kLeft, m, kAdjacent * k + i)) *
                   static_cast<Sum>(at<Factor>(kRight, k, kAdjacent * n + i));
          }
          std::memcpy(tiles_[kSum][m] + n * sizeof sum, &sum, sizeof sum);
        }
      }
    }
  }
  template <class T> T at(int tile, int row, int column) const {
    T value;
    std::memcpy(&value, tiles_[tile][row] + static_cast<size_t>(column) * sizeof value, sizeof value);
    return value;
  }

  TileShapes shapes_;
  bool configured_ = false;
  std::byte tiles_[8][16][64];
};

}  // namespace fovea::cpu
