// Lays a sentence of tokens out in lines, right to left where its script is, and shades its words.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "view/grid.h"
#include "view/svg_canvas.h"

namespace fovea {

struct Word {
  double x, y, width;  // of its box, relative to the sentence's upper left corner
  std::string shown;
};

struct Sentence {
  std::span<const Label> labels;
  std::vector<Word> words;
  double size = 14, width = 0, height = 0;

  double line() const { return size * 1.5; }
};

struct SentenceShape {
  double size = 14;
  double max_width = std::numeric_limits<double>::infinity();  // a wider sentence is broken into lines
  std::span<const double> min_widths;                          // one for each word, or empty
};

Sentence lay_out(std::span<const Label> labels, const SentenceShape& shape);

void draw_word(Canvas& canvas, const Sentence& sentence, size_t i, TextAt at);

// A sentence that is shaded many times: its words are written once, and each drawing refers to them.
class ShadedSentence {
 public:
  ShadedSentence(Canvas& canvas, const Sentence& sentence, std::string id);
  void draw(Canvas& canvas, double x, double y, const std::function<float(size_t)>& weight) const;

 private:
  const Sentence& sentence_;
  std::string id_;
};

}  // namespace fovea
