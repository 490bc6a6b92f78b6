// Attention on a picture: the record, the light, and the views in every format. The pictures are made here.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "support.h"
#include "view/html.h"
#include "view/picture_checks.h"
#include "view/picture_frames.h"
#include "view/record_arrays.h"
#include "view/record_file.h"
#include "view/reduce.h"
#include "view/svg.h"
#include "view/svg_render.h"
#include "view/terminal.h"
#include "view/terminal_text.h"
#include "vision/image.h"

namespace fovea {
namespace {

// A grey gradient with a red square in its upper right quarter.
Image drawn(int64_t width, int64_t height) {
  Image image{width, height, {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const auto grey = static_cast<uint8_t>(40 + 160 * x / width);
      const bool red = 4 * x >= 2 * width && 4 * x < 3 * width && 4 * y >= height && 4 * y < 2 * height;
      for (const uint8_t part : {red ? uint8_t{220} : grey, red ? uint8_t{30} : grey, red ? uint8_t{30} : grey}) {
        image.pixels.push_back(part);
      }
    }
  }
  return image;
}

// Word i looks at cell i of 3 x 4, a little at all others, and at no place with the weight 1/8.
AttentionRecord caption_of(const std::vector<std::string>& words, int64_t width = 96, int64_t height = 64,
                           int64_t heads = 1) {
  AttentionRecord r;
  r.task = "caption", r.line = 1, r.architecture = "bahdanau", r.search = "greedy";
  r.image = RecordImage{"square.jpg", width, height, 3, 4, encode_jpeg(drawn(width, height))};
  for (const std::string& word : words) {
    if (!r.target_text.empty()) r.target_text += ' ';
    const auto begin = static_cast<int64_t>(r.target_text.size());
    r.target_text += word;
    r.target.push_back({word, begin, static_cast<int64_t>(r.target_text.size())});
    r.steps.push_back({-0.5, {}, {}});
  }
  const auto end = static_cast<int64_t>(r.target_text.size());
  r.target.push_back({.text = "</s>", .begin = end, .end = end, .mark = true});
  r.steps.push_back({-0.1, {}, {}});
  RecordedAttention a{.kind = "cross", .mechanism = "additive, global, soft", .scope = "global", .selection = "soft"};
  a.heads = heads, a.rows = std::ssize(r.target), a.columns = 13, a.sentinel = true;
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t row = 0; row < a.rows; ++row) {
      for (int64_t cell = 0; cell < 12; ++cell) a.weights.push_back(cell == (row + head) % 12 ? 0.6F : 0.025F);
      a.weights.push_back(0.125F);
    }
  }
  r.attentions = {a};
  return r;
}

std::vector<std::string> some_words(int count) {
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) words.push_back("word" + std::to_string(i));
  return words;
}

Grid grid_of(const AttentionRecord& record) { return reduce(record, {.words = true}); }

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(PictureRecord, IsReadBack) {
  const AttentionRecord r = caption_of({"a", "red", "square"});
  for (const std::string& text : {to_json(r), to_compact_json(r)}) {
    const AttentionRecord back = record_from_json(text, "here");
    ASSERT_TRUE(back.image.has_value());
    EXPECT_EQ(back.image->name, "square.jpg");
    EXPECT_EQ(back.image->width, 96);
    EXPECT_EQ(back.image->height, 64);
    EXPECT_EQ(back.image->cells(), 12);
    EXPECT_EQ(back.image->jpeg, r.image->jpeg);
    EXPECT_TRUE(back.attentions[0].sentinel);
    EXPECT_EQ(back.attentions[0].columns, 13);
    EXPECT_FALSE(back.is_empty());
  }
  EXPECT_EQ(to_json(record_from_json(to_json(r), "here")), to_json(r));
}

TEST(PictureRecord, ACandidateDoesNotRepeatThePicture) {
  std::vector<AttentionRecord> both = {caption_of({"a", "square"}), caption_of({"a", "box"})};
  both[1].rank = 2;
  const Shared shared = shared_with_earlier(both);
  EXPECT_EQ(shared.rank, 1);
  EXPECT_EQ(to_compact_json(both[1], shared).find("\"image\""), std::string::npos);
  both[1].image->jpeg = encode_jpeg(drawn(64, 64));
  EXPECT_EQ(shared_with_earlier(both).rank, 0);
}

TEST(PictureRecord, HostileOnesAreRefused) {
  using nlohmann::json;
  const std::string good = to_json(caption_of({"a"}));
  const auto refused = [&](auto&& change, const char* says) {
    json j = json::parse(good);
    change(j);
    EXPECT_ERROR(record_from_json(j.dump(), "f:1"), says);
  };
  const auto data = [&](const std::string& uri) { return [uri](json& j) { j["image"]["data"] = uri; }; };
  const std::string jpeg = "data:image/jpeg;base64,";
  refused(data(jpeg + std::string(5'000'000, 'A')), "f:1: image: expected data of at most 4000000 bytes, got 5000023");
  refused(data("https://example.org/a.jpg"), "image: expected data to begin with \"data:image/jpeg;base64,\"");
  refused(data("data:image/svg+xml;base64,PHN2Zz4="), "image: expected data to begin with");
  refused(data(jpeg + "no base64!"), "image: expected data in base64");
  refused(data(jpeg), "image: expected the data of a JPEG, got 0 bytes of something else");
  refused(data(jpeg + to_base64("\x89PNG and so on")), "image: expected the data of a JPEG");
  refused(data(jpeg + to_base64("\xFF\xD8\xFF\xD9 ends at once")), "image: expected the data of a JPEG");
  // A header that claims 65535 x 65535 pixels, for which a reader would allocate 12 GB.
  std::string huge = caption_of({"a"}).image->jpeg;
  const size_t frame = huge.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  huge.replace(frame + 5, 4, "\xFF\xFF\xFF\xFF");
  refused(data(jpeg + to_base64(huge)), "expected a JPEG of 1 to 512 pixels a side, got 65535 x 65535");
  refused([](json& j) { j["image"]["rows"] = 4; }, "expected cross weights of 2 rows and 17 columns, got 2 and 13");
  refused([](json& j) { j["image"]["columns"] = 1'000'000; }, "expected columns to be a whole number from 1 to 512");
  refused([](json& j) { j["image"]["width"] = -1; }, "expected width to be a whole number");
  refused([](json& j) { j["image"].erase("name"); }, "name");
  refused([](json& j) { j["image"] = 7; }, "image: expected an object, got 7");
  refused([](json& j) { j["attentions"][0].erase("sentinel"); }, "and 12 columns, got 2 and 13");
  refused([](json& j) { j["source"]["text"] = "a"; }, "image: expected no text in source beside it, got \"a\"");
  refused([](json& j) { j.erase("image"); }, "sentinel: expected an attention from the target to a picture, got cross");
}

TEST(PictureRecord, AnyTruncationOfTheHeaderIsReadOrRefused) {
  const std::string jpeg = caption_of({"a"}).image->jpeg;
  nlohmann::json j = nlohmann::json::parse(to_json(caption_of({"a"})));
  const size_t frame = jpeg.find("\xFF\xC0");
  for (size_t size = 0; size < jpeg.size(); ++size) {
    j["image"]["data"] = "data:image/jpeg;base64," + to_base64(jpeg.substr(0, size));
    if (size < frame + 9) {
      EXPECT_ERROR(record_from_json(j.dump(), "f:1"), "f:1: image: expected the data of a JPEG");
    } else {
      EXPECT_NO_THROW(record_from_json(j.dump(), "f:1"));
    }
  }
}

TEST(PictureRecord, ArraysHoldTheCells) {
  const AttentionRecord r = caption_of({"a"});
  EXPECT_NE(to_npy(r.attentions[0], false).find("(1, 1, 2, 13)"), std::string::npos);
  std::string bytes;
  NpzWriter npz([&](const std::string& part) { bytes += part; });
  npz.add(r);
  npz.finish();
  EXPECT_NE(bytes.find("1/cross"), std::string::npos);
}

TEST(Light, IsBrightestAtTheCellAndInterpolatedBetweenCells) {
  const RecordImage image{"a", 40, 20, 1, 2, ""};
  const PictureFrame frame{.label = {"a"}, .cells = {0.25F, 0.75F}};
  // The centres of the cells are the pixels 1 and 5 of 8, between 1.5 and 5.5 from the edge of the first pixel.
  const std::vector<float> light = light_on(frame, image, {}, 4, 1);
  ASSERT_EQ(light.size(), 4u);
  EXPECT_NEAR(light[0], 1.0 / 3, 1e-6);
  EXPECT_NEAR(light[1], (0.25 * 0.75 + 0.75 * 0.25) / 0.75, 1e-6);
  EXPECT_NEAR(light[2], (0.25 * 0.25 + 0.75 * 0.75) / 0.75, 1e-6);
  EXPECT_NEAR(light[3], 1.0, 1e-6);
  EXPECT_NEAR(light_on(frame, image, {.max_weight = 1}, 4, 1)[3], 0.75, 1e-6);
  EXPECT_NEAR(light_on(frame, image, {.scale = "sqrt"}, 4, 1)[0], std::sqrt(1.0 / 3), 1e-6);
  const PictureFrame none{.label = {"a"}, .cells = {0, 0}};
  for (const float l : light_on(none, image, {}, 4, 1)) EXPECT_EQ(l, 0.0F);
}

TEST(Light, DimsWhereThereIsNoneAndShowsOnBlack) {
  const auto brightness = [](Rgb c) { return c.red + c.green + c.blue; };
  for (const Rgb pixel : {Rgb{255, 255, 255}, Rgb{128, 128, 128}, Rgb{0, 0, 0}}) {
    int before = -1;
    for (const float light : {0.0F, 0.25F, 0.5F, 0.75F, 1.0F}) {
      const int now = brightness(seen_through(veil_of(light), pixel));
      EXPECT_GT(now, before);
      before = now;
    }
    EXPECT_LT(brightness(seen_through(veil_of(0), pixel)), brightness(pixel) / 4 + 1);
    EXPECT_GE(brightness(seen_through(veil_of(1), pixel)), brightness(pixel) - 20);
  }
}

TEST(Light, FramesLeaveOutTheEndMark) {
  const std::vector<PictureFrame> frames = frames_of(grid_of(caption_of({"a", "square"})), "strip");
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1].label.text, "square");
  EXPECT_EQ(frames[1].cells.size(), 12u);
  EXPECT_FLOAT_EQ(frames[1].cells[1], 0.6F);
  EXPECT_NEAR(frames[1].no_place.value(), 0.125, 1e-7);
  EXPECT_NEAR(frames[1].probability.value(), std::exp(-0.5), 1e-9);
  EXPECT_EQ(frames_of(grid_of(caption_of({})), "strip").size(), 1u);  // nothing but an end mark
}

// Self-attention of a non-local block over 8 x 8 cells: a cell looks at itself, and cells 9 and 54 at one another.
AttentionRecord two_shapes() {
  AttentionRecord r = caption_of({});
  r.task = "classify", r.target.clear(), r.steps.clear(), r.target_text.clear();
  r.classes = {{"same", 0.9}, {"different", 0.1}};
  r.image->rows = r.image->columns = 8;
  RecordedAttention a{.kind = "encoder-self", .mechanism = "embedded-gaussian", .scope = "global", .selection = "soft"};
  a.rows = a.columns = 64;
  for (int64_t row = 0; row < 64; ++row) {
    const int64_t other = row == 9 ? 54 : row == 54 ? 9 : row;
    for (int64_t c = 0; c < 64; ++c) a.weights.push_back(c == other ? 0.685F : 0.005F);
  }
  r.attentions = {a};
  return r;
}

TEST(Light, SelfAttentionShowsTheCellsThatLookFar) {
  const AttentionRecord record = record_from_json(to_json(two_shapes()), "here");
  const std::vector<PictureFrame> frames = frames_of(reduce(record, {}), "strip");
  ASSERT_EQ(frames.size(), 11u);
  std::vector<int64_t> from;
  for (const PictureFrame& frame : frames) from.push_back(frame.from.value());
  EXPECT_TRUE(std::is_sorted(from.begin(), from.end()));
  for (const int64_t cell : {9, 54}) EXPECT_EQ(std::count(from.begin(), from.end(), cell), 1) << cell;
  EXPECT_EQ(frames_of(reduce(record, {}), "overlay").size(), 1u);
  Grid one = reduce(record, {});
  one.cell = 54;
  for (const char* view : {"strip", "overlay"}) {
    const std::vector<PictureFrame> chosen = frames_of(one, view);
    ASSERT_EQ(chosen.size(), 1u);
    EXPECT_EQ(chosen[0].from, 54);
    EXPECT_EQ(chosen[0].label.text, "cell 7,7");
    EXPECT_FLOAT_EQ(chosen[0].cells[9], 0.685F);
  }
  EXPECT_NE(strip_svg(reduce(record, {}), {}).find("stroke=\"#ffb000\""), std::string::npos);
  EXPECT_NE(strip_text(reduce(record, {}), {}, {.width = 80}).find("·o"), std::string::npos);
}

using PictureViews = PictureChecks;

TEST_F(PictureViews, AreXmlWithEveryWordAndNothingFromOutside) {
  const std::vector<std::string> words = {"ein", "<script>", "\"&'>]]>", "方块", "مربع"};
  AttentionRecord record = caption_of(words, 96, 64, 2);
  record.image->name = "</title><script>alert(1)</script>.jpg";
  const Grid grid = grid_of(record);
  std::map<std::string, std::string> pictures = {{"overlay.svg", overlay_svg(grid, {})},
                                                 {"strip.svg", strip_svg(grid, {})},
                                                 {"overlay.html", overlay_html(grid, {})},
                                                 {"strip.html", strip_html(grid, {})}};
  EXPECT_EQ(wrong(pictures, words), "");
  const std::vector<Grid> heads = every_head(record, {.words = true});
  EXPECT_EQ(wrong({{"heads.svg", picture_heads_svg(heads, {})}, {"heads.html", picture_heads_html(heads, {})}},
                  {"head 1", "head 2"}),
            "");
}

TEST_F(PictureViews, HaveTheJpegOnceAndALightForEachWord) {
  for (const int count : {1, 4, 30}) {
    const AttentionRecord record = caption_of(some_words(count));
    const Grid grid = grid_of(record);
    for (const std::string& text :
         {overlay_svg(grid, {}), strip_svg(grid, {}), overlay_html(grid, {}), strip_html(grid, {})}) {
      EXPECT_EQ(count_of(text, "data:image/jpeg;base64,"), 1u);
      EXPECT_NE(text.find(to_base64(record.image->jpeg)), std::string::npos);
      EXPECT_EQ(count_of(text, "data:image/png;base64,"), static_cast<size_t>(count));
      EXPECT_NE(text.find("no place 12%"), std::string::npos);
      EXPECT_LT(text.size(), 40'000u + 4'000u * static_cast<size_t>(count));
    }
  }
}

double attribute(const std::string& svg, const std::string& name) {
  return std::stod(svg.substr(svg.find(" " + name + "=\"") + name.size() + 3));
}

TEST_F(PictureViews, WrapAtASensibleWidth) {
  for (const auto& [width, height] : {std::pair{96, 64}, {64, 256}, {300, 40}, {500, 1}, {1, 500}}) {
    for (const int count : {1, 4, 12, 30, 100}) {
      const std::string svg = strip_svg(grid_of(caption_of(some_words(count), width, height)), {});
      EXPECT_LE(attribute(svg, "width"), 1120) << width << " x " << height << ", " << count << " words";
      EXPECT_GE(attribute(svg, "width"), 150);
    }
  }
  EXPECT_LT(attribute(strip_svg(grid_of(caption_of(some_words(4))), {}), "height"), 300);
}

TEST_F(PictureViews, PngShowsTheLight) {
  const Grid grid = grid_of(caption_of({"first", "second"}));
  std::string png;
  try {
    png = svg_to_png(strip_svg(grid, {.background = "light"}), 1);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const Image image = decode_image(png, "strip.png");
  // The brightest and the darkest pixel of the frames are far apart: the photograph alone has no black in it.
  int dark = 0, light = 0;
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    dark += std::max({image.pixels[i], image.pixels[i + 1], image.pixels[i + 2]}) < 36 ? 1 : 0;
    light += image.pixels[i] > 200 && image.pixels[i + 1] < 140 ? 1 : 0;  // the red square of the photograph
  }
  EXPECT_GT(dark, 2000);
  EXPECT_GT(light, 200);
  EXPECT_EQ(svg_to_pdf(strip_svg(grid, {})).substr(0, 5), "%PDF-");
}

TEST_F(PictureViews, AGridWithoutAPictureIsAnError) {
  Grid grid = grid_of(caption_of({"a"}));
  grid.image = nullptr;
  EXPECT_ERROR(strip_svg(grid, {}), "strip: expected attention over a picture, got cross attention");
  EXPECT_ERROR(overlay_html(grid, {}), "overlay: expected attention over a picture");
  EXPECT_ERROR(strip_text(grid, {}, {}), "strip: expected attention over a picture");
  EXPECT_ERROR(picture_heads_svg(std::array{grid}, {}), "heads: expected attention over a picture");
  AttentionRecord record = caption_of({"a"});
  record.image->rows = 5;
  grid.image = std::make_shared<const RecordImage>(*record.image);
  EXPECT_ERROR(strip_svg(grid, {}), "strip: expected a column for each of 20 cells, got 13");
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    all.push_back(text.substr(begin, end - begin));
  return all;
}

// Of a line with escape sequences.
int64_t columns_of(const std::string& line) {
  std::string plain;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\033')
      i = line.find('m', i);
    else
      plain += line[i];
  }
  return display_width(plain);
}

TEST(PictureTerminal, EveryLineFitsInEveryTerminal) {
  using Colour = TerminalStyle::Colour;
  for (const auto& [width, height] : {std::pair{96, 64}, {64, 256}, {300, 40}, {500, 1}, {1, 500}}) {
    const AttentionRecord record = caption_of({"a", "red", std::string(50, 'w'), "مربع"}, width, height, 2);
    for (const Colour colour : {Colour::kTrue, Colour::k256, Colour::kNone}) {
      for (const bool unicode : {true, false}) {
        for (const int room : {20, 80, 200}) {
          const TerminalStyle style{.colour = colour, .width = room, .unicode = unicode};
          for (const std::string& text :
               {strip_text(grid_of(record), {}, style), overlay_text(grid_of(record), {}, style),
                picture_heads_text(every_head(record, {.words = true}), {}, style)}) {
            for (const std::string& line : lines(text)) EXPECT_LE(columns_of(line), room) << line;
            EXPECT_EQ(text.find("\033[") != std::string::npos, colour != Colour::kNone);
          }
        }
      }
    }
  }
}

TEST(PictureTerminal, ColoursAreThePicturesAndTheLights) {
  const AttentionRecord record = caption_of({"a"});
  const TerminalStyle style{.colour = TerminalStyle::Colour::kTrue, .width = 80};
  const std::string text = strip_text(grid_of(record), {}, style);
  // The photograph first, as it is: its red square is at a half of its width and a quarter of its height.
  const Image photo = resize(decode_image(record.image->jpeg, "a"), 29, 20);
  const auto code = [&](int64_t x, int64_t y) {
    const uint8_t* p = &photo.pixels[static_cast<size_t>((y * 29 + x) * 3)];
    return fmt::format("{};{};{}", p[0], p[1], p[2]);
  };
  EXPECT_NE(text.find(fmt::format("38;2;{};48;2;{}m▀", code(0, 0), code(0, 1))), std::string::npos) << text;
  EXPECT_NE(text.find("38;2;" + code(16, 6)), std::string::npos);
  EXPECT_NE(text.find("no place 12%"), std::string::npos);
}

TEST(PictureTerminal, WithoutColoursTheLightIsShades) {
  const std::string shades = strip_text(grid_of(caption_of({"first", "last"})), {}, {.width = 80});
  EXPECT_NE(shades.find("█"), std::string::npos);
  EXPECT_NE(shades.find("·"), std::string::npos);
  // "first" looks at the upper left corner, and "last" at the cell right of it.
  const std::vector<std::string> all = lines(shades);
  const auto words = std::find_if(all.begin(), all.end(), [](const std::string& l) { return l.starts_with("first"); });
  ASSERT_NE(words, all.end());
  EXPECT_TRUE((words + 1)->starts_with("███")) << shades;
  const std::string ascii = strip_text(grid_of(caption_of({"first"})), {}, {.width = 80, .unicode = false});
  EXPECT_NE(ascii.find("@@@"), std::string::npos);
  EXPECT_TRUE(std::all_of(ascii.begin(), ascii.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

TEST(PictureTerminal, ADamagedJpegIsNamed) {
  AttentionRecord record = caption_of({"a"});
  record.image->jpeg.resize(200);
  const TerminalStyle style{.colour = TerminalStyle::Colour::kTrue, .width = 80};
  EXPECT_ERROR(strip_text(grid_of(record), {}, style), "square.jpg");
}

}  // namespace
}  // namespace fovea
