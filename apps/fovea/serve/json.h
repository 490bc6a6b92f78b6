// JSON as the server writes it: members in the order they were given.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace fovea::app {

using Json = nlohmann::ordered_json;

// In one line; bytes that are not UTF-8 are replaced.
inline std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace fovea::app
