// Errors caused by users or by files are exceptions; programming errors of our own are assertions.
// A message reads `op: expected ..., got ...`.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <utility>

namespace fovea {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A caller may catch it and retry with a smaller batch.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args> void check(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]]
    fail(format, std::forward<Args>(args)...);
}

}  // namespace fovea
