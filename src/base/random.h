// Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as
// 1, 2, 3"). A number depends only on (seed, stream, index), not on earlier draws, so all devices and any number of
// threads draw the same numbers.
#pragma once

#include <array>
#include <cstdint>

#if defined(__CUDACC__)
#define FOVEA_HOST_DEVICE __host__ __device__
#else
#define FOVEA_HOST_DEVICE
#endif

namespace fovea {

struct RandomBits {
  uint32_t word[4];
};

// One block of four 32-bit words. The counter is {index low, index high, stream low, stream high}.
FOVEA_HOST_DEVICE constexpr RandomBits philox(uint64_t seed, uint64_t stream, uint64_t index) {
  constexpr uint32_t kMultiply0 = 0xD2511F53, kMultiply1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  uint32_t c0 = static_cast<uint32_t>(index), c1 = static_cast<uint32_t>(index >> 32);
  uint32_t c2 = static_cast<uint32_t>(stream), c3 = static_cast<uint32_t>(stream >> 32);
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{kMultiply0} * c0, p1 = uint64_t{kMultiply1} * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

// The 32-bit word of element `index` in a stream. Four consecutive elements share a block.
FOVEA_HOST_DEVICE constexpr uint32_t random_word(uint64_t seed, uint64_t stream, uint64_t index) {
  return philox(seed, stream, index / 4).word[index % 4];
}

// Dropout at `rate` retains the elements whose random word is at least this threshold.
FOVEA_HOST_DEVICE constexpr uint32_t drop_threshold(float rate) {
  return static_cast<uint32_t>(static_cast<double>(rate) * 4294967296.0);
}

// Draws the numbers of one stream in sequence: for initialisers, shuffles and sampling on the host.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}
  uint32_t bits() { return random_word(seed_, stream_, index_++); }
  double uniform();  // in [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double normal();                              // mean 0, variance 1 (Box-Muller)
  uint64_t below(uint64_t bound);               // in [0, bound), unbiased
  uint64_t position() const { return index_; }  // for checkpoints
  void seek(uint64_t position) { index_ = position; }

 private:
  uint64_t seed_, stream_, index_ = 0;
};

}  // namespace fovea
