// Small models of the tasks besides translation, trained by the program: what they say is of no use, but they say it as
// any other does.
#pragma once

#include <string>

#include "vision/image.h"

namespace fovea {

// Trains <folder>/reviews (classify), <folder>/reader (answer), <folder>/talk (dialogue) and <folder>/titles
// (summarise).
void train_task_models(const std::string& folder);

// Trains <folder>/pictures (caption) on pictures of `drawn_picture`, whose captions are "a red square" and the like.
void train_captioner(const std::string& folder);
// A coloured square (0 red, 1 green, 2 blue) on a dark ground.
Image drawn_picture(int colour, int64_t width = 32, int64_t height = 32);

}  // namespace fovea
