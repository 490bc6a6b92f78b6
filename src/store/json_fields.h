// Settings as JSON: the key "a.b" is member b of the object a.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace fovea {

std::string fields_to_json(const Fields& fields);
// Sets the fields from JSON; fields that are absent keep their values. Throws an Error that starts with `place` if the
// text is not valid JSON, if a key is unknown or if a value is invalid.
void fields_from_json(Fields& fields, std::string_view json, std::string_view place);
// The same, but a member "a.b" sets the field that `rename` returns, and none if that is empty.
void fields_from_json(Fields& fields, std::string_view json, std::string_view place,
                      const std::function<std::string(const std::string& key)>& rename);

}  // namespace fovea
