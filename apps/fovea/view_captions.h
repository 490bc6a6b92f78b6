// fovea view for models of the task caption: pictures.
#pragma once

#include <functional>

#include "attention/record.h"
#include "fovea/view_records.h"

namespace fovea::app {

// The records of the pictures' captions, or of --target, a caption that is given.
void each_captioned(const ViewFlags& flags, const std::function<void(AttentionRecord&)>& take);

}  // namespace fovea::app
