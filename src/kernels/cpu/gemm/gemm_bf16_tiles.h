// A strip of the GEMM on AMX tiles, as a template over the tile type: the tiles of the processor, or the emulated ones
// that let tests run this code on every machine. There are eight tiles of 16 rows of 64 bytes: sums of 16 x 16 f32, a
// left tile of 16 rows by 32 values of k, a right tile of 16 pairs of k by 16 columns.
#pragma once

#include <algorithm>

#include "kernels/cpu/gemm/gemm_bf16_kernels.h"

namespace fovea::cpu {

// Prefetches a tile of the right factor that the next block needs.
inline void prefetch_tile(const bf16* tile) {
#pragma GCC unroll 16
  for (int64_t row = 0; row < kTile; ++row) __builtin_prefetch(tile + row * kDepth);
}

// More than 16 rows by one panel: four tiles of sums (0 1 above 2 3) from two left tiles (4, 5) and two right tiles (6,
// 7), so that every load is used in two products.
template <class Tiles> FOVEA_AMX void multiply_tall(Tiles& tiles, const Strip& strip, const bf16* b, float* sums) {
  constexpr int64_t kSumBytes = kPanel * sizeof(float);
  const bf16* a = strip.a;
  tiles.template zero<0>();
  tiles.template zero<1>();
  tiles.template zero<2>();
  tiles.template zero<3>();
  for (int64_t block = 0; block < strip.blocks; ++block, a += strip.rows * kDepth, b += kBlockSize) {
    tiles.template load<6>(b, kRowBytes);
    tiles.template load<4>(a, kRowBytes);
    tiles.template multiply<0, 4, 6>();
    tiles.template load<7>(b + kTileSize, kRowBytes);
    tiles.template multiply<1, 4, 7>();
    prefetch_tile(b + kBlockSize);
    tiles.template load<5>(a + kTile * kDepth, kRowBytes);
    tiles.template multiply<2, 5, 6>();
    prefetch_tile(b + kBlockSize + kTileSize);
    tiles.template multiply<3, 5, 7>();
  }
  tiles.template store<0>(sums, kSumBytes);
  tiles.template store<1>(sums + kTile, kSumBytes);
  tiles.template store<2>(sums + kTile * kPanel, kSumBytes);
  tiles.template store<3>(sums + kTile * kPanel + kTile, kSumBytes);
}

// At most 16 rows by two panels: four tiles of sums side by side and one left tile (4). Fewer rows make smaller tiles,
// which take the processor fewer cycles.
template <class Tiles> FOVEA_AMX void multiply_wide(Tiles& tiles, const Strip& strip, const bf16* b, float* sums) {
  constexpr int64_t kSumBytes = 2 * kPanel * sizeof(float);
  const bf16* a = strip.a;
  const bf16* next = b + strip.panel_stride;
  tiles.template zero<0>();
  tiles.template zero<1>();
  tiles.template zero<2>();
  tiles.template zero<3>();
  for (int64_t block = 0; block < strip.blocks;
       ++block, a += strip.rows * kDepth, b += kBlockSize, next += kBlockSize) {
    tiles.template load<4>(a, kRowBytes);
    tiles.template load<5>(b, kRowBytes);
    tiles.template multiply<0, 4, 5>();
    prefetch_tile(b + kBlockSize);
    tiles.template load<6>(b + kTileSize, kRowBytes);
    tiles.template multiply<1, 4, 6>();
    prefetch_tile(b + kBlockSize + kTileSize);
    tiles.template load<7>(next, kRowBytes);
    tiles.template multiply<2, 4, 7>();
    prefetch_tile(next + kBlockSize);
    tiles.template load<5>(next + kTileSize, kRowBytes);
    tiles.template multiply<3, 4, 5>();
    prefetch_tile(next + kBlockSize + kTileSize);
  }
  tiles.template store<0>(sums, kSumBytes);
  tiles.template store<1>(sums + kTile, kSumBytes);
  tiles.template store<2>(sums + 2 * kTile, kSumBytes);
  tiles.template store<3>(sums + 3 * kTile, kSumBytes);
}

// At most 16 rows by one remaining panel.
template <class Tiles> FOVEA_AMX void multiply_last(Tiles& tiles, const Strip& strip, const bf16* b, float* sums) {
  constexpr int64_t kSumBytes = kPanel * sizeof(float);
  const bf16* a = strip.a;
  tiles.template zero<0>();
  tiles.template zero<1>();
  for (int64_t block = 0; block < strip.blocks; ++block, a += strip.rows * kDepth, b += kBlockSize) {
    tiles.template load<4>(a, kRowBytes);
    tiles.template load<5>(b, kRowBytes);
    tiles.template multiply<0, 4, 5>();
    tiles.template load<6>(b + kTileSize, kRowBytes);
    tiles.template multiply<1, 4, 6>();
  }
  tiles.template store<0>(sums, kSumBytes);
  tiles.template store<1>(sums + kTile, kSumBytes);
}

template <class Tiles> FOVEA_AMX void strip_on_tiles(const Strip& strip, void (*finish)(const Sums&, const Output&)) {
  const int64_t rows = strip.rows, above = std::min(rows, kTile), below = rows - above;
  const bool tall = below > 0;
  const TileShapes shapes = tile_shapes(tall ? TileRows{above, above, below, below, above, below, kTile, kTile}
                                             : TileRows{above, above, above, above, above, kTile, kTile, kTile});
  Tiles tiles;
  tiles.configure(shapes);
  alignas(64) float sums[4 * kTile * kTile];
  for (int64_t panel = 0; panel < strip.panels;) {
    const bf16* b = strip.b + panel * strip.panel_stride;
    const int64_t count = !tall && strip.panels - panel >= 2 ? 2 : 1;
    if (tall) {
      multiply_tall(tiles, strip, b, sums);
    } else if (count == 2) {
      multiply_wide(tiles, strip, b, sums);
    } else {
      multiply_last(tiles, strip, b, sums);
    }
    const int64_t column = panel * kPanel, width = count * kPanel;
    finish({.data = sums, .stride = width, .rows = rows, .columns = std::min(width, strip.columns - column)},
           shifted(strip.out, 0, column));
    panel += count;
  }
  tiles.release();
}

}  // namespace fovea::cpu
