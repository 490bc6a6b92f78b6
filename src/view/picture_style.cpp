#include "view/picture_style.h"

namespace fovea {

void PictureStyle::describe(Fields& f) {
  f.add("scale", scale,
        "How weights become colours: linear, by their square root, or by their logarithm, over three decades.")
      .choices({"linear", "sqrt", "log"});
  f.add("palette", palette, "Colours, white for weight 0 and dark for the largest; reversed on a dark background.")
      .choices({"blues", "greys"});
  f.add("background", background,
        "auto: SVG and HTML follow the reader's light or dark mode, the terminal its COLORFGBG, and PNG and PDF are "
        "light.")
      .choices({"auto", "light", "dark"});
  f.add("max_weight", max_weight,
        "The weight at the end of the colour scale, to compare pictures; 0 for the largest weight shown.")
      .at_least(0)
      .at_most(1);
  f.add("normalise", normalise,
        "heatmap and heads: colour each row relative to its largest weight; rows can then not be compared.");
  f.add("hide", hide, "flow: the share of each row's attention, in its smallest links, that is not drawn.")
      .at_least(0)
      .below(1);
}

}  // namespace fovea
