// HTML pages of lit pictures: a caption whose words light the picture up, a player, and below them the film strip,
// which is all that is shown without the script. The photograph is in the page once; every drawing refers to it.
#include <fmt/format.h>

#include <algorithm>

#include "view/html.h"
#include "view/html_assembly.h"
#include "view/svg_canvas.h"
#include "view/svg_pictures.h"
#include "view/svg_text.h"
#include "view/svg_views.h"
#include "view/xml.h"

namespace fovea {

namespace {

constexpr double kStripSide = 132, kOverlaySide = 280;  // of a square picture in the film, in CSS pixels

void use(Xml& xml, const std::string& id, std::string_view css_class = "") {
  xml.open("use").set("href", "#" + id);
  if (!css_class.empty()) xml.set("class", css_class);
  xml.leaf();
}

Xml& open_svg(Xml& xml, const RecordImage& image, std::string_view name) {
  xml.open("svg").set("xmlns", "http://www.w3.org/2000/svg").set("role", "img").set("aria-label", name);
  xml.set("viewBox", fmt::format("0 0 {} {}", kPictureUnits, to_hundredths(picture_height(image))));
  return xml.set("preserveAspectRatio", "xMinYMid meet");
}

// The large picture with all lights, of which the script shows one, and the words.
std::string stage(const RecordImage& image, std::span<const PictureFrame> frames) {
  Xml xml;
  std::vector<Label> labels;
  for (const PictureFrame& frame : frames) labels.push_back(frame.label);
  xml.open("div").set("class", "stage").set("hidden", "hidden");
  xml.open("p").set("class", "caption").set("dir", is_right_to_left(labels) ? "rtl" : "ltr").set("lang", "");
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].space_before && i > 0) xml.text(" ");
    xml.open("button").set("type", "button").set("dir", "auto").set("data-frame", static_cast<double>(i));
    xml.text(shown(labels[i])).close();
  }
  xml.close();
  open_svg(xml, image, image.name);
  use(xml, "photo");
  for (size_t i = 0; i < frames.size(); ++i) use(xml, fmt::format("light{}", i), "light");
  xml.close().close();
  return xml.take();
}

void film_frame(Xml& xml, const RecordImage& image, const PictureFrame* frame, size_t index) {
  xml.open("li");
  const std::string name = frame == nullptr ? image.name : shown(frame->label);
  if (frame != nullptr) {
    xml.open("button").set("type", "button").set("data-frame", static_cast<double>(index));
  } else {
    xml.open("div");
  }
  xml.open("span").set("dir", "auto").set("lang", "").text(frame == nullptr ? "\u00A0" : name).close();
  open_svg(xml, image, name);
  use(xml, "photo");
  if (frame != nullptr) use(xml, fmt::format("light{}", index));
  xml.close();
  if (frame != nullptr && frame->no_place) {
    xml.element("small", fmt::format("no place {:.0f}%", 100 * *frame->no_place));
  }
  xml.close().close();
}

std::string film(const RecordImage& image, std::span<const PictureFrame> frames, const PictureStyle& style,
                 double side) {
  Xml xml;
  xml.open("svg").set("xmlns", "http://www.w3.org/2000/svg").set("width", 0).set("height", 0).set("class", "store");
  xml.raw(picture_defs(image, frames, style)).close();
  xml.open("ol").set("class", "film").set("style", fmt::format("--frame:{:.0f}px", frame_width(image, side)));
  film_frame(xml, image, nullptr, 0);
  for (size_t i = 0; i < frames.size(); ++i) film_frame(xml, image, &frames[i], i);
  xml.close();
  return xml.take();
}

// A sentence for each frame, for the page's status line.
std::string status_of(const PictureFrame& frame, const RecordImage& image) {
  const auto at = std::max_element(frame.cells.begin(), frame.cells.end()) - frame.cells.begin();
  std::string text = isolated(shown(frame.label));
  if (frame.probability) text += fmt::format(", probability {:.1f}%", 100 * *frame.probability);
  text += fmt::format("; looks most at row {} of {}, column {} of {} ({})", at / image.columns + 1, image.rows,
                      at % image.columns + 1, image.columns, weight_text(frame.cells[static_cast<size_t>(at)]));
  if (frame.no_place) text += fmt::format("; at no place {:.1f}%", 100 * *frame.no_place);
  return text;
}

std::string page_of(std::string title, std::span<const PictureFrame> frames, std::span<const Grid> grids,
                    const PictureStyle& style, std::string_view each, double side) {
  const RecordImage& image = *grids[0].image;
  Page page;
  page.title = std::move(title);
  page.how = fmt::format(
      "Point at a {} or press it, or press Play, to see where the model looked. The arrow keys step, "
      "too; {}.",
      each, brightness_text(style, each));
  page.controls = stage(image, frames) + player(std::ssize(frames), "Picture alone");
  page.svg = film(image, frames, style, side);
  page.data =
      fmt::format(R"({{"view":"pictures","rows":{},"steps":{}}})",
                  json_array(frames, [](const PictureFrame& frame) { return json_string(shown(frame.label)); }),
                  json_array(frames, [&](const PictureFrame& frame) { return json_string(status_of(frame, image)); }));
  page.background = style.background;
  page.grids = grids;
  return assemble(page);
}

std::string words_page(const Grid& grid, const PictureStyle& style, std::string_view view, double side) {
  const std::vector<PictureFrame> frames = frames_of(grid, view);
  return page_of(grid.title, frames, std::span(&grid, 1), style, each_row(grid), side);
}

}  // namespace

std::string overlay_html(const Grid& grid, const PictureStyle& style) {
  return words_page(grid, style, "overlay", kOverlaySide);
}

std::string strip_html(const Grid& grid, const PictureStyle& style) {
  return words_page(grid, style, "strip", kStripSide);
}

std::string picture_heads_html(std::span<const Grid> grids, const PictureStyle& style) {
  const std::vector<PictureFrame> frames = frames_of_heads(grids);
  return page_of(heads_title(grids), frames, grids, style, "head", kStripSide);
}

}  // namespace fovea
