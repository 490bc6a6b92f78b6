#include "view/svg_sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "view/svg_text.h"

namespace fovea {

namespace {

constexpr double kMaxEms = 14;  // of a word
constexpr double kPadding = 3;  // on each side of a word, within its box

// Whether black has a higher contrast than white with the marker pen over dark paper. Over light paper it always has.
bool needs_black(double share) {
  constexpr Rgb kDarkPaper{0x14, 0x17, 0x1c};
  const auto mix = [share](uint8_t paper, uint8_t ink) {
    return static_cast<uint8_t>((1.0 - share) * static_cast<double>(paper) + share * static_cast<double>(ink));
  };
  const Rgb mixed{mix(kDarkPaper.red, kPen.red), mix(kDarkPaper.green, kPen.green), mix(kDarkPaper.blue, kPen.blue)};
  return ink_on(mixed).red == 0;
}

}  // namespace

Sentence lay_out(std::span<const Label> labels, const SentenceShape& shape) {
  Sentence sentence{labels, {}, shape.size};
  double x = 0, y = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    Word word{0, 0, 0, shorten(shown(labels[i]), kMaxEms)};
    word.width = ems(word.shown) * shape.size + 2 * kPadding;
    if (!shape.min_widths.empty()) word.width = std::max(word.width, shape.min_widths[i]);
    if (x > 0) x += labels[i].space_before ? shape.size * 0.3 : 1;
    if (x > 0 && x + word.width > shape.max_width) {
      x = 0;
      y += sentence.line() + 3;
    }
    word.x = x;
    word.y = y;
    x += word.width;
    sentence.width = std::max(sentence.width, x);
    sentence.words.push_back(std::move(word));
  }
  sentence.height = y + sentence.line();
  if (is_right_to_left(labels)) {
    for (Word& word : sentence.words) word.x = sentence.width - word.x - word.width;
  }
  return sentence;
}

void draw_word(Canvas& canvas, const Sentence& sentence, size_t i, TextAt at) {
  const Word& word = sentence.words[i];
  at.x += word.x + word.width / 2;
  at.y += word.y + sentence.line() / 2 + sentence.size * 0.35;
  at.size = sentence.size;
  at.anchor = Anchor::kMiddle;
  canvas.label(sentence.labels[i], at, kMaxEms);
}

ShadedSentence::ShadedSentence(Canvas& canvas, const Sentence& sentence, std::string id)
    : sentence_(sentence), id_(std::move(id)) {
  canvas.xml().open("defs").open("g").set("id", id_);
  for (size_t i = 0; i < sentence.words.size(); ++i) draw_word(canvas, sentence, i, {});
  canvas.xml().close().close();
}

void ShadedSentence::draw(Canvas& canvas, double x, double y, const std::function<float(size_t)>& weight) const {
  Xml& xml = canvas.xml();
  const auto box = [&](const Word& word) -> Xml& {
    xml.open("rect").set("x", x + word.x).set("y", y + word.y).set("width", word.width);
    return xml.set("height", sentence_.line()).set("rx", 3);
  };
  const std::string pen = hex(kPen);
  std::vector<size_t> rewritten;
  for (size_t i = 0; i < sentence_.words.size(); ++i) {
    const float w = weight(i);
    const double share = is_absent(w) ? 0 : canvas.scale().share(w);
    if (is_absent(w)) box(sentence_.words[i]).set("fill", "url(#absent)").leaf();
    if (share < 0.01) continue;
    // The faint ink of a special token has too little contrast with a shade.
    if (needs_black(share) || (sentence_.labels[i].mark && share > 0.1)) {
      rewritten.push_back(i);
    } else {
      box(sentence_.words[i]).set("fill", pen).set("fill-opacity", share).leaf();
    }
  }
  xml.open("use").set("href", "#" + id_).set("x", x).set("y", y).leaf();
  // A word that needs another ink than its sentence is covered and written again.
  for (const size_t i : rewritten) {
    box(sentence_.words[i]).set("class", "paper").leaf();
    const double share = canvas.scale().share(weight(i));
    box(sentence_.words[i]).set("fill", pen).set("fill-opacity", share).leaf();
    draw_word(canvas, sentence_, i, {.x = x, .y = y, .css_class = needs_black(share) ? "on" : "ink shaded"});
  }
}

}  // namespace fovea
