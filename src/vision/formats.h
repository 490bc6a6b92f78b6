// The decoders of each format, for decode_image. They throw an Error that names `name`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vision/image.h"

namespace fovea {

struct DecodedImage {
  Image image;          // as stored
  int orientation = 1;  // EXIF's, 1 to 8
};

DecodedImage decode_jpeg(std::string_view bytes, const std::string& name, int64_t for_size);
DecodedImage decode_png(std::string_view bytes, const std::string& name);
DecodedImage decode_webp(std::string_view bytes, const std::string& name);

// The sizes in the headers, for image_size.
ImageSize jpeg_size(std::string_view bytes, const std::string& name);
ImageSize png_size(std::string_view bytes, const std::string& name);
ImageSize webp_size(std::string_view bytes, const std::string& name);

// Throws an Error unless a picture of this size may be decoded.
void check_image_size(int64_t width, int64_t height, const std::string& name);
// Throws an Error unless there are pixels, as many as the picture's size says. `what` names the function.
void check_image(const Image& image, std::string_view what);

// Blends [pixels, 4] with white: [pixels, 3]. `out` may be `rgba`.
void blend_with_white(const uint8_t* rgba, int64_t pixels, uint8_t* out);

}  // namespace fovea
