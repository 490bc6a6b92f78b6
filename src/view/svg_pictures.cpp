// Draws a picture once for each word, lit by the word's attention: large (overlay) or as a film strip. The file has the
// JPEG once, and for each word a small PNG that darkens and brightens it.
#include "view/svg_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/base64.h"
#include "base/error.h"
#include "view/record_image.h"
#include "view/svg.h"
#include "view/svg_text.h"
#include "view/svg_views.h"
#include "vision/png.h"

namespace fovea {

namespace {

constexpr double kLineWidth = 1040;  // of frames in a line
constexpr double kGap = 12, kWordSize = 15, kNoteSize = 11.5;

// The size of a picture in a frame, and of the frame with its texts.
struct FrameSize {
  double width, height, slot, text_above, text_below;
  double whole() const { return text_above + height + text_below; }
};

FrameSize size_of(const RecordImage& image, std::span<const PictureFrame> frames, double side) {
  const double width = frame_width(image, side), height = picture_height(image) * width / kPictureUnits;
  FrameSize size{width, height, std::max(width, 76.0), kWordSize * 1.6, 8};
  const auto no_place = [](const PictureFrame& frame) { return frame.no_place.has_value(); };
  if (std::any_of(frames.begin(), frames.end(), no_place)) size.text_below = 28;
  return size;
}

void draw_no_place(Canvas& canvas, double weight, double x, double y, double width) {
  Xml& xml = canvas.xml();
  xml.open("rect").set("x", x).set("y", y + 5).set("width", width).set("height", 3).set("class", "mass").leaf();
  xml.open("rect").set("x", x).set("y", y + 5).set("width", width * std::clamp(weight, 0.0, 1.0)).set("height", 3);
  xml.set("class", "taken").leaf();
  canvas.text(fmt::format("no place {:.0f}%", 100 * weight),
              {.x = x + width / 2, .y = y + 21, .size = kNoteSize, .css_class = "faint", .anchor = Anchor::kMiddle});
}

std::string tooltip(const PictureFrame& frame) {
  const float largest = *std::max_element(frame.cells.begin(), frame.cells.end());
  std::string text = fmt::format("{}: largest weight {}", shown(frame.label), weight_text(largest));
  if (frame.no_place) text += fmt::format(", no place {}", weight_text(static_cast<float>(*frame.no_place)));
  if (frame.probability) text += fmt::format(", probability {:.1f}%", 100 * *frame.probability);
  return text;
}

// Outlines a cell in the units of picture_defs.
void draw_outline(Xml& xml, const RecordImage& image, int64_t cell) {
  const double width = kPictureUnits / static_cast<double>(image.columns),
               height = picture_height(image) / static_cast<double>(image.rows);
  for (const auto& [colour, thick] : {std::pair{"#000000", 10.0}, {"#ffb000", 6.0}}) {
    xml.open("rect").set("x", width * static_cast<double>(cell % image.columns));
    xml.set("y", height * static_cast<double>(cell / image.columns)).set("width", width).set("height", height);
    xml.set("fill", "none").set("stroke", colour).set("stroke-width", thick).leaf();
  }
}

class Film {
 public:
  Film(const RecordImage& image, std::span<const PictureFrame> frames, const PictureStyle& style, double side)
      : image_(image),
        frames_(frames),
        style_(style),
        size_(size_of(image, frames, side)),
        canvas_(WeightScale(style, std::span<const Grid>{}), {}) {}

  // The first frame is the picture as it is.
  std::string svg(std::string_view title, double y) {
    canvas_.xml().raw(picture_defs(image_, frames_, style_));
    const auto count = frames_.size() + 1;
    const auto fit = std::max<size_t>(1, static_cast<size_t>((kLineWidth + kGap) / (size_.slot + kGap)));
    const size_t lines = (count + fit - 1) / fit, each = (count + lines - 1) / lines;
    for (size_t i = 0; i < count; ++i) {
      const double x = kMargin + static_cast<double>(i % each) * (size_.slot + kGap);
      draw_frame(i, x, y + static_cast<double>(i / each) * (size_.whole() + 10));
    }
    return canvas_.finish(title);
  }
  Canvas& canvas() { return canvas_; }

 private:
  void draw_frame(size_t i, double slot, double y) {
    const PictureFrame* frame = i == 0 ? nullptr : &frames_[i - 1];
    const double x = slot + (size_.slot - size_.width) / 2, top = y + size_.text_above;
    Xml& xml = canvas_.xml();
    xml.open("g").set("class", "frame");
    xml.element("title", frame != nullptr ? tooltip(*frame) : image_.name);
    if (frame != nullptr) {
      canvas_.label(
          frame->label,
          {.x = slot + size_.slot / 2, .y = y + kWordSize * 1.1, .size = kWordSize, .anchor = Anchor::kMiddle},
          size_.slot / kWordSize);
    }
    const double scale = size_.width / kPictureUnits;
    const auto use = [&](const std::string& id) {
      xml.open("use").set("href", "#" + id);
      xml.set("transform", fmt::format("translate({} {}) scale({:.5f})", to_hundredths(x), to_hundredths(top), scale));
      xml.leaf();
    };
    use("photo");
    if (frame != nullptr) use(fmt::format("light{}", i - 1));
    xml.close();
    if (frame != nullptr && frame->no_place)
      draw_no_place(canvas_, *frame->no_place, x, top + size_.height, size_.width);
    canvas_.reach(slot + size_.slot, y + size_.whole());
  }

  const RecordImage& image_;
  std::span<const PictureFrame> frames_;
  const PictureStyle& style_;
  FrameSize size_;
  Canvas canvas_;
};

// The caption, broken into lines.
std::vector<std::string> lines_of(std::span<const PictureFrame> frames, double max_ems) {
  std::vector<std::string> lines;
  for (const PictureFrame& frame : frames) {
    const std::string word = shown(frame.label), spaced = (frame.label.space_before ? " " : "") + word;
    if (lines.empty() || ems(lines.back() + spaced) > max_ems) {
      lines.push_back(word);
    } else {
      lines.back() += spaced;
    }
  }
  return lines;
}

// Writes the caption, if there is one, and how to read the light; returns the y of the frames.
double draw_heading(Canvas& canvas, std::span<const PictureFrame> caption, const std::string& how) {
  constexpr double kSize = 18;
  double y = kMargin;
  for (const std::string& line : lines_of(caption, kLineWidth / kSize)) {
    canvas.text(shorten(line, kLineWidth / kSize), {.x = kMargin, .y = y + kSize, .size = kSize, .bold = true});
    canvas.reach(kMargin + std::min(ems(line) * kSize * 1.08, kLineWidth), y + kSize);
    y += kSize * 1.5;
  }
  canvas.text(how, {.x = kMargin, .y = y + 12, .size = 12, .css_class = "faint"});
  canvas.reach(kMargin + ems(how) * 12, y + 12);
  return y + 26;
}

constexpr double kStripSide = 132, kOverlaySide = 280;

std::string draw_words(const Grid& grid, const PictureStyle& style, std::string_view view, double side) {
  const std::vector<PictureFrame> frames = frames_of(grid, view);
  Film film(*grid.image, frames, style, side);
  const bool is_sentence = !grid.named_rows && !has_cells_as_rows(grid);
  const std::string how = grid.title + "; " + brightness_text(style, each_row(grid));
  return film.svg(grid.title,
                  draw_heading(film.canvas(), std::span(frames).first(is_sentence ? frames.size() : 0), how));
}

}  // namespace

double picture_height(const RecordImage& image) {
  return kPictureUnits * static_cast<double>(image.height) / static_cast<double>(image.width);
}

std::string picture_defs(const RecordImage& image, std::span<const PictureFrame> frames, const PictureStyle& style) {
  Xml xml;
  const double height = picture_height(image);
  const auto add = [&](const std::string& id, const std::string& uri) {
    xml.open("image");
    if (!id.empty()) xml.set("id", id);
    xml.set("width", kPictureUnits).set("height", height).set("preserveAspectRatio", "none").set("href", uri).leaf();
  };
  xml.open("defs");
  add("photo", jpeg_data_uri(image));
  // Readers enlarge the PNG smoothly, so a few pixels for each cell are enough.
  const int64_t times = std::clamp<int64_t>(64 / std::max(image.rows, image.columns), 1, 8);
  for (size_t i = 0; i < frames.size(); ++i) {
    Pixels pixels{image.columns * times, image.rows * times, 4, {}};
    for (const float light : light_on(frames[i], image, style, pixels.width, pixels.height)) {
      const auto [colour, opacity] = veil_of(light);
      pixels.bytes.insert(pixels.bytes.end(),
                          {colour.red, colour.green, colour.blue, static_cast<uint8_t>(std::lround(255 * opacity))});
    }
    xml.open("g").set("id", fmt::format("light{}", i));
    add("", "data:image/png;base64," + to_base64(encode_png(pixels)));
    if (frames[i].from) draw_outline(xml, image, *frames[i].from);
    xml.close();
  }
  xml.close();
  return xml.take();
}

std::string overlay_svg(const Grid& grid, const PictureStyle& style) {
  return draw_words(grid, style, "overlay", kOverlaySide);
}

std::string strip_svg(const Grid& grid, const PictureStyle& style) {
  return draw_words(grid, style, "strip", kStripSide);
}

std::string picture_heads_svg(std::span<const Grid> grids, const PictureStyle& style) {
  const std::vector<PictureFrame> frames = frames_of_heads(grids);
  Film film(*grids[0].image, frames, style, kStripSide);
  const std::string title = heads_title(grids), how = title + "; " + brightness_text(style, "head");
  return film.svg(title, draw_heading(film.canvas(), {}, how));
}

}  // namespace fovea
