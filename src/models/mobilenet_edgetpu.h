// The sizes of MobileNetEdgeTPU 1.0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fovea {

struct MobileNetBlock {
  enum Kind { kProjectOnly, kFused, kDepthwise } kind;
  int64_t window, stride, expanded, out;
};
inline constexpr int64_t kMobileNetStem = 32, kMobileNetHead = 1280;
inline constexpr std::array kMobileNetBlocks = {
    MobileNetBlock{MobileNetBlock::kProjectOnly, 1, 1, 32, 16},
    MobileNetBlock{MobileNetBlock::kFused, 3, 2, 128, 32},
    MobileNetBlock{MobileNetBlock::kFused, 3, 1, 128, 32},
    MobileNetBlock{MobileNetBlock::kFused, 3, 1, 128, 32},
    MobileNetBlock{MobileNetBlock::kFused, 3, 1, 128, 32},
    MobileNetBlock{MobileNetBlock::kFused, 3, 2, 256, 48},
    MobileNetBlock{MobileNetBlock::kFused, 3, 1, 192, 48},
    MobileNetBlock{MobileNetBlock::kFused, 3, 1, 192, 48},
    MobileNetBlock{MobileNetBlock::kFused, 3, 1, 192, 48},
    MobileNetBlock{MobileNetBlock::kDepthwise, 3, 2, 384, 96},
    MobileNetBlock{MobileNetBlock::kDepthwise, 3, 1, 384, 96},
    MobileNetBlock{MobileNetBlock::kDepthwise, 3, 1, 384, 96},
    MobileNetBlock{MobileNetBlock::kDepthwise, 3, 1, 384, 96},
    MobileNetBlock{MobileNetBlock::kDepthwise, 3, 1, 768, 96},
    MobileNetBlock{MobileNetBlock::kDepthwise, 3, 1, 384, 96},
    MobileNetBlock{MobileNetBlock::kDepthwise, 3, 1, 384, 96},
    MobileNetBlock{MobileNetBlock::kDepthwise, 3, 1, 384, 96},
    MobileNetBlock{MobileNetBlock::kDepthwise, 5, 2, 768, 160},
    MobileNetBlock{MobileNetBlock::kDepthwise, 5, 1, 640, 160},
    MobileNetBlock{MobileNetBlock::kDepthwise, 5, 1, 640, 160},
    MobileNetBlock{MobileNetBlock::kDepthwise, 5, 1, 640, 160},
    MobileNetBlock{MobileNetBlock::kDepthwise, 3, 1, 1280, 192},
};
inline constexpr size_t kMobileNetWithoutResidual = 13;  // though its sizes would allow a residual connection
// What the network reads of a pixel: (u8 - center) * scale.
inline constexpr float kMobileNetCenter = 128.0f, kMobileNetScale = 0.007874015718698502f;

}  // namespace fovea
