// The bf16 GEMM on AMX tiles. Tiles are configured at the start of each strip and released at its end, so that no tile
// state outlives a call.
#include "kernels/cpu/gemm/gemm_bf16_tiles.h"

namespace fovea::cpu {

#if defined(__x86_64__)

namespace {

void strip_amx(const Strip& strip) { strip_on_tiles<AmxTiles>(strip, finish_avx512); }

}  // namespace

const Bf16Kernels& amx_kernels() {
  static constexpr Bf16Kernels kKernels = {
      .height = 2 * kTile, .strip = strip_amx, .pack_rows = pack_rows_avx512, .pack_panel = pack_panel_avx512};
  return kKernels;
}

#else

const Bf16Kernels& amx_kernels() { return emulated_kernels(); }

#endif

}  // namespace fovea::cpu
