// Truncated, damaged, huge and hostile files are errors that name the file.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "support.h"
#include "vision/encoders.h"
#include "vision/image.h"

namespace fovea {
namespace {

std::string bytes_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

struct Sample {
  std::string name, file;
};
// One small file of each kind. The first names are the formats.
std::vector<Sample> samples() {
  const Image picture = smooth_picture(37, 29), small = noisy_picture(9, 7, 1);
  std::vector<uint8_t> alpha;
  for (int i = 0; i < 37 * 29; ++i) alpha.push_back(static_cast<uint8_t>(i));
  const std::vector<uint8_t> rgba = with_alpha(picture, alpha);
  const std::string grey(2 * 37 * 29, '\x55'), palette = bytes_of(noisy_picture(16, 1, 2).pixels);
  const std::string jpeg = write_jpeg(picture, JpegKind::baseline), exif = exif_block(6, true);
  return {{"jpeg baseline", jpeg},
          {"jpeg progressive", write_jpeg(picture, JpegKind::progressive)},
          {"jpeg arithmetic", write_jpeg(picture, JpegKind::arithmetic)},
          {"jpeg grey", write_jpeg(picture, JpegKind::grey)},
          {"jpeg ycck", write_jpeg(picture, JpegKind::ycck)},
          {"jpeg exif", add_jpeg_exif(jpeg, exif)},
          {"png colour", encode_png(noisy_picture(37, 29, 3))},
          {"png alpha", write_png(37, 29, bytes_of(rgba), {.colour = 6, .interlaced = true, .exif = exif})},
          {"png palette", write_png(64, 16, std::string(32 * 16, '\x1B'),
                                    {.colour = 3, .depth = 4, .palette = palette, .transparency = "\x10\x20"})},
          {"png deep", write_png(37, 29, grey, {.colour = 0, .depth = 16, .interlaced = true})},
          {"webp lossy", write_webp(with_alpha(picture, std::vector<uint8_t>(alpha.size(), 255)), 37, 29, false)},
          {"webp lossless", write_webp(rgba, 37, 29, true)},
          {"webp alpha", write_webp(rgba, 37, 29, false)},
          {"webp animated", animated_webp(12, 10, 2, 2, small)},
          {"webp exif",
           extended_webp(0x08, 9, 7,
                         webp_chunks(write_webp(with_alpha(small, std::vector<uint8_t>(63, 255)), 9, 7, true)) +
                             webp_chunk("EXIF", exif))}};
}

TEST(HostileTest, TruncatedFilesAreErrors) {
  for (const Sample& sample : samples()) {
    const Image whole = decode_image(sample.file, sample.name);
    const bool jpeg = sample.name.starts_with("jpeg");
    for (size_t size = 0; size < sample.file.size(); ++size) {
      const std::string_view file = std::string_view(sample.file).substr(0, size);
      // A JPEG file with one scan is complete without the two bytes that end it.
      if (jpeg && size + 2 >= sample.file.size() && sample.name != "jpeg progressive" &&
          sample.name != "jpeg arithmetic") {
        EXPECT_EQ(largest_difference(decode_image(file, sample.name), whole), 0) << sample.name;
      } else {
        EXPECT_ERROR(decode_image(file, sample.name), sample.name + (size < 12 ? ": " : ": the "));
        EXPECT_ERROR(decode_image(file, sample.name), size < 12 ? ": " : " file is truncated");
      }
    }
  }
}

std::string changed(std::string file, size_t at, std::string_view bytes) {
  return file.replace(at, bytes.size(), bytes);
}

TEST(HostileTest, HugePicturesAreRefusedByTheirHeaders) {
  const std::string limit = "a: expected a picture of at most 100 megapixels and 65,535 pixels a side, got ";
  std::string png = changed(encode_png(smooth_picture(4, 4)), 16, std::string("\0\0\x4E\x20\0\0\x4E\x20", 8));
  repair_png(png);
  EXPECT_ERROR(decode_image(png, "a"), limit + "20000 x 20000");
  png = changed(png, 16, std::string("\x7F\xFF\xFF\xFF\0\0\0\1", 8));
  repair_png(png);
  EXPECT_ERROR(decode_image(png, "a"), limit + "2147483647 x 1");
  const std::string jpeg = write_jpeg(smooth_picture(4, 4), JpegKind::progressive);
  const size_t frame = jpeg.find("\xFF\xC2") + 5;
  EXPECT_ERROR(decode_image(changed(jpeg, frame, "\xFF\xDC\xFF\xDC"), "a"), limit + "65500 x 65500");
  EXPECT_ERROR(decode_image(extended_webp(0x02, 20'000, 20'000, ""), "a"), "a: ");
  EXPECT_ERROR(decode_image(std::string("RIFF\x16\0\0\0WEBPVP8L\x0A\0\0\0\x2F\xFF\xFF\xFF\x0F\0\0\0\0\0", 30), "a"),
               limit + "16384 x 16384");
  EXPECT_ERROR(decode_image(std::string(100'000'001, '\xFF'), "a"), "a: expected a picture of at most 100 MB");
}

// A small file that says that it has 100 megapixels is refused before they are allocated.
TEST(HostileTest, TooFewBytesForThePixels) {
  std::string png = changed(encode_png(smooth_picture(4, 4)), 16, std::string("\0\0\x27\x10\0\0\x27\x10", 8));
  repair_png(png);
  EXPECT_ERROR(decode_image(png, "a"), "a: the PNG file is truncated: ");
  const std::string jpeg = write_jpeg(smooth_picture(4, 4), JpegKind::progressive);
  EXPECT_ERROR(decode_image(changed(jpeg, jpeg.find("\xFF\xC2") + 5, "\x27\x10\x27\x10"), "a"),
               "a: the JPEG file is truncated: ");
}

TEST(HostileTest, JpegWithManyScans) {
  const std::string jpeg = write_jpeg(smooth_picture(64, 64), JpegKind::progressive);
  const size_t first = jpeg.find("\xFF\xDA"), next = jpeg.find("\xFF\xC4", first);
  std::string repeated;
  for (int i = 0; i < 300; ++i) repeated += jpeg.substr(first, next - first);
  EXPECT_ERROR(decode_image(jpeg.substr(0, first) + repeated + jpeg.substr(next), "a"),
               "a: cannot decode the JPEG file: it has more than 64 scans");
}

TEST(HostileTest, DamagedPixelsAreErrors) {
  const std::string jpeg = write_jpeg(noisy_picture(64, 64, 3), JpegKind::baseline);
  EXPECT_ERROR(decode_image(changed(jpeg, jpeg.size() / 2, "\xFF\xD9"), "a"),
               "a: cannot decode the JPEG file: Corrupt");
  std::string png = encode_png(noisy_picture(64, 64, 3));
  png[png.size() / 2] = static_cast<char>(png[png.size() / 2] ^ 1);
  EXPECT_ERROR(decode_image(png, "a"), "a: cannot decode the PNG file: IDAT: CRC error");
}

// Changes a file at random: bytes, numbers of the header, pieces removed, repeated or taken from another file.
std::string mutated(const std::string& original, const std::string& other, Random& random) {
  std::string file = original;
  const auto place = [&] { return static_cast<size_t>(random.below(file.size())); };
  for (uint64_t edits = 1 + random.below(3); edits > 0 && !file.empty(); --edits) {
    const size_t at = place(), length = std::min<size_t>(file.size() - at, 1 + random.below(40));
    switch (random.below(8)) {
      case 0: file[at] = static_cast<char>(file[at] ^ (1 << random.below(8))); break;
      case 1: file[at] = static_cast<char>(random.bits()); break;
      case 2:
        file[std::min(file.size() - 1, size_t{8} + random.below(60))] = "\0\x01\x7F\x80\xFF"[random.below(5)];
        break;
      case 3: file.resize(at); break;
      case 4: file.erase(at, length); break;
      case 5: file.insert(at, file.substr(at, length)); break;
      case 6: file.replace(at, length, other.substr(std::min(at, other.size()), length)); break;
      default: std::fill_n(file.begin() + static_cast<int64_t>(at), length, random.below(2) == 0 ? '\0' : '\xFF');
    }
  }
  return file;
}

TEST(HostileTest, MutatedFilesNeverCrash) {
  const std::vector<Sample> files = samples();
  Random random(17);
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string format = files[i].name.substr(0, 4);
    int decoded = 0, refused = 0;
    for (int round = 0; round < 2000; ++round) {
      std::string file = mutated(files[i].file, files[random.below(files.size())].file, random);
      if (format == "png " && random.below(4) != 0) repair_png(file);  // or nearly all would fail at a check sum
      const auto for_size = static_cast<int64_t>(random.below(30));
      try {
        const ImageSize size = image_size(file, files[i].name);
        const Image image = decode_image(file, files[i].name, for_size);
        if (for_size == 0) {
          EXPECT_EQ(size.width * size.height, image.width * image.height);
        }
        ASSERT_TRUE(image.width > 0 && image.height > 0 && image.width * image.height <= kMaxImagePixels);
        ASSERT_EQ(image.pixels.size(), static_cast<size_t>(3 * image.width * image.height));
        ++decoded;
      } catch (const Error& error) {
        ASSERT_TRUE(std::string_view(error.what()).starts_with(files[i].name + ": ")) << error.what();
        ++refused;
      }
    }
    // Some changes are harmless; if none were, the decoders would not have been reached.
    EXPECT_GT(decoded, 10) << files[i].name;
    EXPECT_GT(refused, 200) << files[i].name;
  }
}

}  // namespace
}  // namespace fovea
