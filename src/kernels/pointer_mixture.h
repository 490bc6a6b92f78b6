// The mixture of one target in PointerLossArgs, shared by all backends.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/random.h"  // FOVEA_HOST_DEVICE

namespace fovea {

template <class T> struct PointerMixture {
  T generate = 0, generated = 0, copied = 0, total = 0;  // g, p_vocabulary, c, p

  // nll and gate are null where every target is copied.
  FOVEA_HOST_DEVICE PointerMixture(const T* nll, const T* gate, T copied_weight, bool in_vocabulary)
      : copied(copied_weight) {
    if (gate != nullptr) {
      generate = T(1) / (T(1) + std::exp(-*gate));
      if (in_vocabulary) generated = std::exp(-*nll);
    }
    total = generate * generated + (T(1) - generate) * copied + T(1e-20);  // never 0, so that its logarithm is finite
  }
  FOVEA_HOST_DEVICE T loss() const { return -std::log(total); }
  // The derivatives of the loss.
  FOVEA_HOST_DEVICE T by_nll() const { return generate * generated / total; }
  FOVEA_HOST_DEVICE T by_gate() const { return -generate * (T(1) - generate) * (generated - copied) / total; }
  FOVEA_HOST_DEVICE T by_copied() const { return -(T(1) - generate) / total; }
};

}  // namespace fovea
