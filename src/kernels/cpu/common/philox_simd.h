// The random words of base/random.h, 4 * kLanes at a time and bit for bit: Philox4x32-10 with one counter in each lane.
// Dropout and the dropout of attention weights use it.
#include "base/random.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/kernels.h"

#if defined(FOVEA_KERNELS_CPU_COMMON_PHILOX_SIMD_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_KERNELS_CPU_COMMON_PHILOX_SIMD_H_
#undef FOVEA_KERNELS_CPU_COMMON_PHILOX_SIMD_H_
#else
#define FOVEA_KERNELS_CPU_COMMON_PHILOX_SIMD_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {

constexpr int64_t kWords = 4 * kLanes;

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void random_words(uint64_t seed, uint64_t stream, uint64_t block, uint32_t* words) {
  const RandomBits bits = philox(seed, stream, block);
  std::memcpy(words, bits.word, sizeof(bits.word));
}
#else
using Words = hn::Vec<WordTag>;

// Returns the upper halves of the products, lane by lane.
HWY_INLINE Words multiply_high(Words a, Words b) {
  const hn::RepartitionToWide<WordTag> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(WordTag(), hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
  return hn::OddEven(hn::BitCast(WordTag(), odd), hn::BitCast(WordTag(), hn::ShiftRight<32>(even)));
}

// words[i] = random_word(seed, stream, 4 * block + i), for i < kWords.
HWY_INLINE void random_words(uint64_t seed, uint64_t stream, uint64_t block, uint32_t* words) {
  const WordTag d;
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const Words multiply0 = hn::Set(d, 0xD2511F53), multiply1 = hn::Set(d, 0xCD9E8D57);
  const Words start = hn::Set(d, low(block)), one = hn::Set(d, 1);
  Words c0 = hn::Add(start, hn::Iota(d, 0)), c1 = hn::Set(d, low(block >> 32));
  c1 = hn::Add(c1, hn::IfThenElseZero(hn::Lt(c0, start), one));  // carry
  Words c2 = hn::Set(d, low(stream)), c3 = hn::Set(d, low(stream >> 32));
  uint32_t k0 = low(seed), k1 = low(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const Words n0 = hn::Xor(hn::Xor(multiply_high(c2, multiply1), c1), hn::Set(d, k0));
    const Words n2 = hn::Xor(hn::Xor(multiply_high(c0, multiply0), c3), hn::Set(d, k1));
    c1 = hn::Mul(c2, multiply1);
    c3 = hn::Mul(c0, multiply0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  hn::StoreInterleaved4(c0, c1, c2, c3, d, words);
}
#endif

// The dropout factors: 0, or 1 / (1 - rate) for the elements that are kept.
class DropoutFactors {
 public:
  DropoutFactors(float rate, const RandomStream& random) : kept_(1.0f / (1.0f - rate)), seed_(random.seed) {
    if (!random.step) return;  // without a step nothing is dropped
    threshold_ = drop_threshold(rate);
    stream_ = uint64_t{static_cast<uint32_t>(random.step.data<int32_t>()[0])} << 32 | random.op_index;
  }
  // Computes the factors of the elements 4 * block + i, i < kWords.
  HWY_INLINE void get(uint64_t block, float* factors) const {
    uint32_t words[kWords];
    if (threshold_ == 0) {
      for (int64_t i = 0; i < kWords; i += kLanes) store(kept_, factors + i);
      return;
    }
    random_words(seed_, stream_, block, words);
    for (int64_t i = 0; i < kWords; i += kLanes) {
      const auto word = hn::LoadU(WordTag(), words + i);
      const auto keeps = hn::Eq(hn::Max(word, hn::Set(WordTag(), threshold_)), word);
      store(hn::IfThenElseZero(hn::RebindMask(FloatTag(), keeps), kept_.v), factors + i);
    }
  }

 private:
  uint32_t threshold_ = 0;
  Floats kept_;
  uint64_t seed_, stream_ = 0;
};

}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // FOVEA_KERNELS_CPU_COMMON_PHILOX_SIMD_H_
