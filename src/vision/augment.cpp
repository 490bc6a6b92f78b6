#include "vision/augment.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/random.h"

namespace fovea {

namespace {

constexpr uint64_t kAugmentSeed = 0x17A6'E000, kEpochSeed = 1'000'003;  // apart from the seeds of shuffles and dropout

void draw_crop(Random& random, double smallest, Augmentation& change) {
  const int64_t width = change.width, height = change.height;
  const auto area = static_cast<double>(width) * static_cast<double>(height);
  const double widest = std::log(4.0 / 3.0);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double kept = area * random.uniform(smallest, 1), ratio = std::exp(random.uniform(-widest, widest));
    const int64_t w = std::lround(std::sqrt(kept * ratio)), h = std::lround(std::sqrt(kept / ratio));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    change.left = static_cast<int64_t>(random.below(static_cast<uint64_t>(width - w + 1)));
    change.top = static_cast<int64_t>(random.below(static_cast<uint64_t>(height - h + 1)));
    change.width = w;
    change.height = h;
    return;
  }
}

void flip_rows(Image& image) {
  for (int64_t y = 0; y < image.height; ++y) {
    uint8_t* left = image.pixels.data() + 3 * y * image.width;
    uint8_t* right = left + 3 * (image.width - 1);
    for (; left < right; left += 3, right -= 3) std::swap_ranges(left, left + 3, right);
  }
}

float luma(const uint8_t* rgb) {
  return 0.299F * static_cast<float>(rgb[0]) + 0.587F * static_cast<float>(rgb[1]) +
         0.114F * static_cast<float>(rgb[2]);
}

// Brightness scales a pixel p, contrast its distance to the mean luma m of the picture, saturation its distance to its
// own luma l. All three are linear, so together they are  scale p + grey l + shift,  clipped to 0..255 at the end.
void change_colours(Image& image, const Augmentation& change) {
  double sum = 0;
  for (size_t i = 0; i < image.pixels.size(); i += 3) sum += luma(&image.pixels[i]);
  const double mean = sum / static_cast<double>(image.width * image.height), both = change.brightness * change.contrast;
  const auto scale = static_cast<float>(both * change.saturation), grey = static_cast<float>(both) - scale;
  const auto shift = static_cast<float>(change.brightness * (1 - change.contrast) * mean);
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    const float common = grey * luma(&image.pixels[i]) + shift + 0.5F;
    for (size_t c = i; c < i + 3; ++c) {
      const float value = scale * static_cast<float>(image.pixels[c]) + common;
      image.pixels[c] = static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F));
    }
  }
}

// Calls visit(word) for each word in lower case. Letters are a to z and the accented Latin letters, which UTF-8 writes
// with two bytes that start with 0xC3 to 0xC9.
template <class Visit> void for_each_word(std::string_view text, Visit&& visit) {
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) visit(std::string_view(word));
    word.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto lower = static_cast<unsigned char>(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
    if (lower >= 'a' && lower <= 'z') {
      word += static_cast<char>(lower);
    } else if (byte >= 0xC3 && byte <= 0xC9 && i + 1 < text.size()) {
      word.append(text.substr(i++, 2));
    } else {
      end_word();
    }
  }
  end_word();
}

bool is_side(std::string_view word) {
  // English words, and the German adjectives with their endings: "rechteckig" is a shape, not a side.
  static constexpr std::string_view kWords[] = {
      "left",      "right",     "lefthand",   "righthand",  "leftmost",   "rightmost", "leftward",
      "rightward", "leftwards", "rightwards", "leftside",   "rightside",  "lefty",     "lefties",
      "linke",     "linken",    "linker",     "linkes",     "linkem",     "rechte",    "rechten",
      "rechter",   "rechtes",   "rechtem",    "linkerhand", "rechterhand"};
  if (std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) return true;
  // Also in compounds: rechtsseitig, Linkshänder.
  return word.starts_with("links") || word.starts_with("rechts") || word.starts_with("lefthanded") ||
         word.starts_with("righthanded");
}

}  // namespace

Augmentation draw_augmentation(const AugmentConfig& config, int64_t width, int64_t height, bool may_flip, uint64_t seed,
                               int64_t epoch, int64_t index) {
  Random random(seed + kAugmentSeed + static_cast<uint64_t>(epoch) * kEpochSeed, static_cast<uint64_t>(index));
  Augmentation change;
  change.width = width;
  change.height = height;
  const bool flips = random.uniform() < 0.5;  // drawn in any case, so that the other draws do not depend on the caption
  change.flip = flips && config.flip && may_flip;
  for (double* factor : {&change.brightness, &change.contrast, &change.saturation}) {
    *factor = random.uniform(1 - config.colour, 1 + config.colour);
  }
  if (config.crop < 1) draw_crop(random, config.crop, change);
  return change;
}

Image augment(const Image& image, const Augmentation& change, int64_t width, int64_t height) {
  const bool whole = change.width == image.width && change.height == image.height;
  Image result = whole ? resize(image, width, height)
                       : resize(crop(image, change.left, change.top, change.width, change.height), width, height);
  if (change.flip) flip_rows(result);
  if (change.brightness != 1 || change.contrast != 1 || change.saturation != 1) change_colours(result, change);
  return result;
}

bool mentions_side(std::string_view caption) {
  if (caption.find("左") != std::string_view::npos || caption.find("右") != std::string_view::npos) return true;
  bool found = false;
  for_each_word(caption, [&](std::string_view word) { found = found || is_side(word); });
  return found;
}

}  // namespace fovea
