// The instruction sets that the kernels are compiled for.
#pragma once

#include <gtest/gtest.h>

#include "kernels/cpu/common/simd.h"

namespace fovea {

// Runs body once on each instruction set that is compiled and that this machine has.
template <class Body> void on_every_target(Body&& body) {
  const int64_t able = hwy::SupportedTargets();
  for (int64_t left = able; left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    if ((target & (HWY_TARGETS)) == 0) continue;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace fovea
