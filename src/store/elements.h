// The element types of model files, read as f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fovea {

enum class ElementType : uint8_t { kF32, kF16, kBF16, kF64, kI8, kI16, kI32 };

size_t bytes_of(ElementType type);
// Little-endian elements at any address.
void widen_elements(ElementType type, const std::byte* from, std::span<float> to);

}  // namespace fovea
