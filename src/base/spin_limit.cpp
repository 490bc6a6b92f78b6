// Programs that call bound_spinning() are linked with this file, and with the getenv() below in place of the C
// library's. libgomp reads GOMP_SPINCOUNT once, when it is loaded, before any code of the program can set it.
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): the declaration of getenv
#include <unistd.h>

#include <string_view>

#include "base/threads.h"

namespace {

// A plain search, because it runs before the constructors of the program.
char* environment_value(std::string_view name) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.size() > name.size() && text[name.size()] == '=' && text.starts_with(name))
      return *entry + name.size() + 1;
  }
  return nullptr;
}

char spin_limit[] = "10000";  // a tenth of a millisecond or two

}  // namespace

extern "C" char* getenv(const char* name) noexcept {
  constexpr std::string_view kSpinLimit = "GOMP_SPINCOUNT";
  char* value = environment_value(name);
  if (value != nullptr || name != kSpinLimit || environment_value("OMP_WAIT_POLICY") != nullptr) return value;
  return spin_limit;
}

namespace fovea {

void bound_spinning() {}

}  // namespace fovea
