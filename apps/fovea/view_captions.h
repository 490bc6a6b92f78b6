// fovea view for models of pictures: the tasks caption and classify-images.
#pragma once

#include <functional>

#include "attention/record.h"
#include "fovea/view_records.h"

namespace fovea::app {

// The records of the pictures' captions, or of --target, a caption that is given.
void each_captioned(const ViewFlags& flags, const std::function<void(AttentionRecord&)>& take);

// The records of classified pictures: the attention pooling, and the non-local block if there is one.
void each_classified_picture(const ViewFlags& flags, const std::function<void(AttentionRecord&)>& take);

}  // namespace fovea::app
