// JSON as the server writes it.
#pragma once

#include <string>

#include "base/json.h"

namespace fovea::app {

// In one line; bytes that are not UTF-8 are replaced.
inline std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace fovea::app
