// Settings as TOML: the key "a.b" is b in the table [a].
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/fields.h"

namespace fovea {

// Sets the fields that the file sets. Error with file and line for bad TOML, an unknown key or a value that does not
// fit. Returns the keys that the file sets, with their line numbers.
std::map<std::string, int64_t> fields_from_toml(Fields& fields, const std::string& path);
std::string fields_to_toml(const Fields& fields, bool with_help);

}  // namespace fovea
