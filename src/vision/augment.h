// Random changes to the pictures of training: crop, flip and colour. A change depends only on (seed, epoch, index), so
// a resumed run sees the same pictures.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/fields.h"
#include "vision/image.h"

namespace fovea {

struct AugmentConfig {
  double crop = 1.0;
  bool flip = false;
  double colour = 0.0;

  void describe(Fields& f) {
    f.add("crop", crop,
          "Smallest share of a picture's area that a random crop keeps, with an aspect ratio changed by up to 4/3; 1 "
          "does "
          "not crop.")
        .at_least(0.05)
        .at_most(1);
    f.add("flip", flip,
          "Mirrors half of the pictures, but none whose caption mentions left or right in English, German or Chinese.");
    f.add("colour", colour,
          "Multiplies brightness, contrast and saturation each by a random factor between 1 - colour and 1 + colour.")
        .at_least(0)
        .below(1)
        .also_called({"color", "color_jitter", "jitter"});
  }
  bool changes_anything() const { return crop < 1 || flip || colour > 0; }
};

// One change, drawn for a picture.
struct Augmentation {
  int64_t left = 0, top = 0, width = 0, height = 0;  // the part of the picture that is kept
  bool flip = false;                                 // mirrored from left to right
  double brightness = 1, contrast = 1, saturation = 1;
};

// Draws the change of example `index` in an epoch for a picture of this size. The crop is drawn like PyTorch's
// RandomResizedCrop.
Augmentation draw_augmentation(const AugmentConfig& config, int64_t width, int64_t height, bool may_flip, uint64_t seed,
                               int64_t epoch, int64_t index);

// Crops, resizes to width x height, flips and changes the colours.
Image augment(const Image& image, const Augmentation& change, int64_t width, int64_t height);

// Whether a caption mentions left or right (English, German, Chinese). Then its picture must not be flipped.
bool mentions_side(std::string_view caption);

}  // namespace fovea
