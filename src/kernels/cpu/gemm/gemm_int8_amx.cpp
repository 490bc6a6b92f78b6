// The int8 GEMM on AMX tiles: sums of 16 rows by the 64 columns of a panel in four tiles (0 to 3). A left tile (4) has
// 16 rows of 64 values of k; a right tile (5, 6) has 16 groups of k by 16 columns, which the panel stores 256 bytes
// apart.
#include "kernels/cpu/gemm/gemm_int8_kernels.h"
#include "kernels/cpu/gemm/tiles.h"

namespace fovea::cpu {

namespace {

template <class Tiles> FOVEA_AMX void sums_on_tiles(const Tile8& t, int32_t* sums) {
  Tiles tiles;
  tiles.configure(tile_shapes({t.rows, t.rows, t.rows, t.rows, t.rows, kTile, kTile, 0}));
  tiles.template zero<0>();
  tiles.template zero<1>();
  tiles.template zero<2>();
  tiles.template zero<3>();
  const uint8_t *a = t.a.data, *b = t.b;
  for (int64_t k = 0; k < t.depth; k += kBlock8, a += kBlock8, b += kTile * kGroupBytes) {
    tiles.template load<4>(a, t.a.stride);
    tiles.template load<5>(b, kGroupBytes);
    tiles.template multiply_bytes<0, 4, 5>();
    tiles.template load<6>(b + kRowBytes, kGroupBytes);
    tiles.template multiply_bytes<1, 4, 6>();
    tiles.template load<5>(b + 2 * kRowBytes, kGroupBytes);
    tiles.template multiply_bytes<2, 4, 5>();
    tiles.template load<6>(b + 3 * kRowBytes, kGroupBytes);
    tiles.template multiply_bytes<3, 4, 6>();
  }
  constexpr int64_t kSumBytes = kWide8 * sizeof(int32_t);
  tiles.template store<0>(sums, kSumBytes);
  tiles.template store<1>(sums + kTile, kSumBytes);
  tiles.template store<2>(sums + 2 * kTile, kSumBytes);
  tiles.template store<3>(sums + 3 * kTile, kSumBytes);
  tiles.release();
}

template <class Tiles, auto kFinish> void multiply(const Tile8& t) {
  alignas(64) int32_t sums[kTile * kWide8];
  sums_on_tiles<Tiles>(t, sums);
  kFinish(t, sums);
}

}  // namespace

const Int8Kernels& emulated_amx_int8_kernels() {
  static const Int8Kernels kernels = {.height = kTile,
                                      .row_bytes = 1,
                                      .quantise = plain_int8_kernels().quantise,
                                      .quantise_row = plain_int8_kernels().quantise_row,
                                      .multiply = multiply<EmulatedTiles, finish_int8_plain>};
  return kernels;
}

const Int8Kernels& amx_int8_kernels() {
#if defined(__x86_64__)
  static constexpr Int8Kernels kKernels = {.height = kTile,
                                           .row_bytes = 1,
                                           .quantise = quantise_avx512,
                                           .quantise_row = quantise_signed<quantise_avx512>,
                                           .multiply = multiply<AmxTiles, finish_int8_avx512>};
  return kKernels;
#else
  return emulated_amx_int8_kernels();
#endif
}

}  // namespace fovea::cpu
