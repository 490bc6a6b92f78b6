// Draws the training curves of a run folder's metrics.jsonl in a terminal and as SVG: loss, validation metrics and the
// learning rate; several runs in the same panels.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "view/terminal.h"

namespace fovea {

struct CurvePoint {
  double step = 0, value = 0;  // NaN is a gap in the curve
};
using Curve = std::vector<CurvePoint>;

struct RunCurves {
  std::string name;    // of the folder
  std::string folder;  // the path as given; tells runs of the same name apart
  Curve train_loss, validation_loss, learning_rate;
  std::map<std::string, Curve> metrics;  // of validation: "bleu", "exact", ...
};

// Errors name the file and the line. An incomplete last line is ignored, because the run may still be writing it.
RunCurves read_run(const std::string& folder);

// A curve of a panel. A marked curve has few points, and each is drawn as a dot.
struct PanelCurve {
  std::string name;
  size_t run = 0;
  bool marked = false;
  const Curve* points = nullptr;
};

// Curves over the same axes. The step axis runs from 0 to the last step of all panels.
struct CurvePanel {
  std::string title;
  std::vector<PanelCurve> curves;
  double last_step = 0, low = 0, high = 0;
  bool logarithmic = false;

  double across(double step) const;  // horizontal position, 0 to 1
  double up(double value) const;     // vertical position, 0 to 1
  std::vector<double> step_ticks(int most) const;
  std::vector<double> value_ticks(int most) const;
};

// One panel each for loss, every metric and the learning rate, if any run has it. Throws an Error if no run has any.
// The panels point into `runs`.
std::vector<CurvePanel> curve_panels(std::span<const RunCurves> runs);
std::string tick_text(double value);  // "0.002", "1600", "20k"

std::string curves_text(std::span<const RunCurves> runs, const TerminalStyle& terminal);
std::string curves_svg(std::span<const RunCurves> runs);  // a complete file; light or dark as the reader prefers

}  // namespace fovea
