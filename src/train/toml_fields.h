// Settings as TOML: the key "a.b" is b in the table [a].
#pragma once

#include <string>

#include "base/fields.h"

namespace fovea {

// Sets what the file says. Error with file and line for bad TOML, an unknown key or a value that does not fit.
void fields_from_toml(Fields& fields, const std::string& path);
std::string fields_to_toml(const Fields& fields, bool with_help);

}  // namespace fovea
