// Prints a picture once for each word, lit by the word's attention: two pixels a character in colours, and only the
// light, as shades, without them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "view/picture_frames.h"
#include "view/terminal_page.h"
#include "view/terminal_text.h"
#include "vision/image.h"

namespace fovea {

namespace {

constexpr int64_t kGap = 2;  // columns between frames
constexpr double kStripSide = 24, kOverlaySide = 56;

// A frame's size in pixels: one a column, two a line.
struct FrameSize {
  int64_t width, height;
};

FrameSize size_of(const RecordImage& image, double side, int64_t room) {
  const double aspect = static_cast<double>(image.width) / static_cast<double>(image.height);
  const auto width = std::clamp<int64_t>(std::lround(frame_width(image, side)), 1, room);
  return {width, 2 * std::max<int64_t>(1, std::lround(static_cast<double>(width) / aspect / 2))};
}

class Film {
 public:
  Film(const RecordImage& image, std::span<const PictureFrame> frames, const PictureStyle& style, double side,
       TerminalPage& page)
      : image_(image), frames_(frames), style_(style), page_(page), size_(size_of(image, side, page.width())) {
    slot_ = size_.width;
    for (const PictureFrame& frame : frames) slot_ = std::max(slot_, display_width(word(frame)));
    slot_ = std::min(slot_, page.width());
    if (page.coloured()) photo_ = resize(decode_image(image.jpeg, image.name), size_.width, size_.height);
  }

  void draw() {
    // Without colours the picture cannot be shown, so there is no frame without light.
    const size_t first = page_.coloured() ? 0 : 1, count = frames_.size() + 1;
    const auto fit = std::max<size_t>(1, static_cast<size_t>((page_.width() + kGap) / (slot_ + kGap)));
    for (size_t i = first; i < count; i += fit) {
      page_.end_line();
      draw_line(i, std::min(i + fit, count));
    }
  }

 private:
  std::string word(const PictureFrame& frame) const { return label_text(page_, frame.label); }
  void move_to(size_t frame) { page_.move_to(static_cast<int64_t>(frame) * (slot_ + kGap)); }

  // Prints the frames [first, end), 0 being the picture as it is.
  void draw_line(size_t first, size_t end) {
    for (size_t i = std::max<size_t>(first, 1); i < end; ++i) {
      move_to(i - first);
      const std::string text = truncate_to_width(word(frames_[i - 1]), slot_, page_.glyph("…", "~"));
      page_.write(page_.terminal().unicode ? isolate(text) : text, {.bold = true});
    }
    page_.end_line();
    std::vector<std::vector<float>> lights(end - first);
    for (size_t i = std::max<size_t>(first, 1); i < end; ++i) {
      const int64_t height = halves() ? size_.height : size_.height / 2;
      lights[i - first] = light_on(frames_[i - 1], image_, style_, size_.width, height);
    }
    for (int64_t line = 0; line < size_.height / 2; ++line) {
      for (size_t i = first; i < end; ++i) {
        move_to(i - first);
        draw_pixels(i == 0 ? nullptr : &frames_[i - 1], lights[i - first], line);
      }
      page_.end_line();
    }
    draw_no_place(first, end);
  }

  void draw_no_place(size_t first, size_t end) {
    bool any = false;
    for (size_t i = std::max<size_t>(first, 1); i < end; ++i) {
      if (!frames_[i - 1].no_place) continue;
      move_to(i - first);
      const std::string text = fmt::format("no place {:.0f}%", 100 * *frames_[i - 1].no_place);
      page_.write(truncate_to_width(text, slot_, page_.glyph("…", "~")), {.faint = true});
      any = true;
    }
    if (any) page_.end_line();
  }

  bool halves() const { return page_.coloured() && page_.terminal().unicode; }

  // Whether the pixel is the centre of the cell that looks.
  bool is_from(const PictureFrame* frame, int64_t x, int64_t line) const {
    if (frame == nullptr || !frame->from) return false;
    const int64_t row = *frame->from / image_.columns, column = *frame->from % image_.columns;
    return x == (2 * column + 1) * size_.width / (2 * image_.columns) &&
           line == (2 * row + 1) * size_.height / (4 * image_.rows);
  }

  // An empty light leaves the picture as it is.
  void draw_pixels(const PictureFrame* frame, const std::vector<float>& light, int64_t line) {
    for (int64_t x = 0; x < size_.width; ++x) {
      if (is_from(frame, x, line)) {
        page_.write("o", {.text = Rgb{0, 0, 0}, .ground = Rgb{0xff, 0xb0, 0}});
      } else if (!page_.coloured()) {
        draw_shade(light[static_cast<size_t>(line * size_.width + x)]);
      } else if (halves()) {
        page_.write("▀", {.text = colour(light, 2 * line, 2 * line, x),
                          .ground = colour(light, 2 * line + 1, 2 * line + 1, x)});
      } else {
        page_.write(" ", {.ground = colour(light, line, 2 * line, x)});
      }
    }
  }

  Rgb colour(const std::vector<float>& light, int64_t light_row, int64_t row, int64_t x) const {
    const uint8_t* at = &photo_.pixels[static_cast<size_t>((row * size_.width + x) * 3)];
    const Rgb pixel{at[0], at[1], at[2]};
    if (light.empty()) return pixel;
    return seen_through(veil_of(light[static_cast<size_t>(light_row * size_.width + x)]), pixel);
  }

  void draw_shade(float light) {
    constexpr std::array<const char*, 5> kShades = {"·", "░", "▒", "▓", "█"}, kRamp = {".", ":", "+", "#", "@"};
    const auto level = static_cast<size_t>(std::lround(4 * std::clamp(light, 0.0F, 1.0F)));
    page_.write(page_.glyph(kShades[level], kRamp[level]));
  }

  const RecordImage& image_;
  std::span<const PictureFrame> frames_;
  const PictureStyle& style_;
  TerminalPage& page_;
  FrameSize size_;
  int64_t slot_ = 1;
  Image photo_;
};

std::string draw(std::string_view title, const RecordImage& image, std::span<const PictureFrame> frames,
                 const PictureStyle& style, const TerminalStyle& terminal, std::string_view of_each, double side) {
  TerminalPage page(terminal);
  page.prose(page.safe(title), {.bold = true});
  page.prose(brightness_text(style, of_each), {.faint = true});
  Film(image, frames, style, side, page).draw();
  return page.take();
}

std::string draw_words(const Grid& grid, const PictureStyle& style, const TerminalStyle& terminal,
                       std::string_view view, double side) {
  const std::vector<PictureFrame> frames = frames_of(grid, view);
  check_grid(view, grid, terminal);
  return draw(grid.title, *grid.image, frames, style, terminal, each_row(grid), side);
}

}  // namespace

std::string overlay_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal) {
  return draw_words(grid, picture, terminal, "overlay", kOverlaySide);
}

std::string strip_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal) {
  return draw_words(grid, picture, terminal, "strip", kStripSide);
}

std::string picture_heads_text(std::span<const Grid> grids, const PictureStyle& picture,
                               const TerminalStyle& terminal) {
  const std::vector<PictureFrame> frames = frames_of_heads(grids);
  return draw(heads_title(grids), *grids[0].image, frames, picture, terminal, "head", kStripSide);
}

}  // namespace fovea
