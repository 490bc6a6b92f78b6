// The dropout factors, for `dropout` and for the weights of dot-product attention.
#pragma once

#include "base/random.h"
#include "kernels/kernels.h"

namespace fovea::reference {

// Returns the factor of element `index`: 0, or 1 / (1 - rate) if it is kept.
template <class T> class DropoutFactor {
 public:
  DropoutFactor(float rate, const RandomStream& random)
      : kept_(T(1) / (T(1) - static_cast<T>(rate))), seed_(random.seed) {
    if (!random.step) return;  // without a step nothing is dropped
    threshold_ = drop_threshold(rate);
    stream_ = uint64_t{static_cast<uint32_t>(random.step.data<int32_t>()[0])} << 32 | random.op_index;
  }
  T operator()(int64_t index) const {
    return random_word(seed_, stream_, static_cast<uint64_t>(index)) >= threshold_ ? kept_ : T(0);
  }

 private:
  uint32_t threshold_ = 0;
  T kept_;
  uint64_t seed_, stream_ = 0;
};

}  // namespace fovea::reference
