// Settings as JSON: the key "a.b" is member b of the object a.
#pragma once

#include <string>
#include <string_view>

#include "base/fields.h"

namespace fovea {

std::string fields_to_json(const Fields& fields);
// Sets what the text says. Error, beginning with `place`, for text that is no JSON, an unknown key or a
// value that does not fit; keys that are absent keep their values.
void fields_from_json(Fields& fields, std::string_view json, std::string_view place);

}  // namespace fovea
