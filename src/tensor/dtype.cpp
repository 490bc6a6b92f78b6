#include "tensor/dtype.h"

fmt::appender fmt::formatter<fovea::DType>::format(fovea::DType type, fmt::format_context& context) const {
  return fmt::format_to(context.out(), "{}", fovea::name_of(type));
}
