// All attention mechanisms of the registries, as JSON.
#pragma once

#include <nlohmann/json.hpp>

namespace fovea::app {

nlohmann::ordered_json mechanisms_json();

}  // namespace fovea::app
