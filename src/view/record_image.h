// The picture of an attention record in JSON, with its file as a data URI.
#pragma once

#include <string_view>

#include "attention/record.h"
#include "base/json.h"

namespace fovea {

Json image_json(const RecordImage& image);
// Throws an Error unless the data is a JPEG of at most RecordImage::kMaxSide pixels a side.
RecordImage image_from_json(const Json& json);

std::string jpeg_data_uri(const RecordImage& image);

}  // namespace fovea
