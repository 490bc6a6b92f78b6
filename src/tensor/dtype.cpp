#include "tensor/dtype.h"

#include <algorithm>

fmt::appender fmt::formatter<fovea::DType>::format(fovea::DType type, fmt::format_context& context) const {
  const std::string_view name = fovea::name_of(type);
  return std::copy(name.begin(), name.end(), context.out());
}
