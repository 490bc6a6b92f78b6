// Every mechanism there is, as data.
#pragma once

#include <nlohmann/json.hpp>

namespace fovea::app {

nlohmann::ordered_json mechanisms_json();

}  // namespace fovea::app
