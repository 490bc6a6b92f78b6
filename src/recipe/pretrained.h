// What a recipe takes over from the model that training.pretrained names.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/recipe.h"

namespace fovea {

// Sets the architecture, the sizes and the conventions that the recipe does not name to those of the pretrained model.
// `warnings`, unless it is null, receives a sentence for each that is named and differs, except rates of dropout.
void adopt_pretrained(Recipe& recipe, const std::function<bool(std::string_view key)>& is_named,
                      std::vector<std::string>* warnings);

}  // namespace fovea
