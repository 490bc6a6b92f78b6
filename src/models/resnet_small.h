// The sizes of the small residual network.
#pragma once

#include <array>
#include <cstdint>

namespace fovea {

inline constexpr std::array<int64_t, 3> kResnetChannels = {16, 32, 64};  // of each stage
inline constexpr int64_t kResnetBlocksOfStage = 2;
// What the network reads of a pixel: (u8 - center) * scale.
inline constexpr float kResnetCenter = 127.5f, kResnetScale = 1.0f / 64.0f;

}  // namespace fovea
