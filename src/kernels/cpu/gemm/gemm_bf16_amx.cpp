// The bf16 GEMM on AMX tiles. Tiles are configured at the start of each strip and released at its end, so that no tile
// state outlives a call.
#include "kernels/cpu/gemm/gemm_bf16_tiles.h"

namespace fovea::cpu {

#if defined(__x86_64__)

namespace {

// The compiler's intrinsics require literal tile numbers.
struct AmxTiles {
  FOVEA_AMX void configure(const TileShapes& shapes) { asm volatile("ldtilecfg %0" ::"m"(shapes)); }
  FOVEA_AMX void release() { asm volatile("tilerelease"); }
  template <int kIndex> FOVEA_AMX void zero() { asm volatile("tilezero %%tmm%c0" ::"i"(kIndex)); }
  template <int kIndex> FOVEA_AMX void load(const bf16* from, int64_t row_bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row_bytes), "i"(kIndex) : "memory");
  }
  template <int kIndex> FOVEA_AMX void store(float* to, int64_t row_bytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(row_bytes), "i"(kIndex) : "memory");
  }
  template <int kSum, int kLeft, int kRight> FOVEA_AMX void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
  }
};

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
