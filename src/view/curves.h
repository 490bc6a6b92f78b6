// The course of a training, from a run folder's metrics.jsonl: loss, the validation's metric and the learning rate, as
// curves in a terminal and as SVG; several runs over one another.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "view/terminal.h"

namespace fovea {

struct CurvePoint {
  double step = 0, value = 0;  // not a number where a run had none: the curve has a gap
};
using Curve = std::vector<CurvePoint>;

struct RunCurves {
  std::string name;    // the folder's
  std::string folder;  // as it was given; tells runs of one name apart
  Curve train_loss, validation_loss, learning_rate;
  std::map<std::string, Curve> metrics;  // "bleu", "exact", ... of validations
};

// Errors name the file and the line. A last line that is not complete is not read: the run may be writing it.
RunCurves read_run(const std::string& folder);

// A curve of one panel. One that is marked has few points, and they show.
struct PanelCurve {
  std::string name;
  size_t run = 0;
  bool marked = false;
  const Curve* points = nullptr;
};

// Curves over the same axes. Steps run from 0 to the last of all panels.
struct CurvePanel {
  std::string title;
  std::vector<PanelCurve> curves;
  double last_step = 0, low = 0, high = 0;
  bool logarithmic = false;

  double across(double step) const;  // 0 to 1
  double up(double value) const;     // 0 to 1
  std::vector<double> step_ticks(int most) const;
  std::vector<double> value_ticks(int most) const;
};

// Loss, each metric and the learning rate: those that any run has. Error when nothing has been measured.
// Points into `runs`.
std::vector<CurvePanel> curve_panels(std::span<const RunCurves> runs);
std::string tick_text(double value);  // "0.002", "1600", "20k"

std::string curves_text(std::span<const RunCurves> runs, const TerminalStyle& terminal);
std::string curves_svg(std::span<const RunCurves> runs);  // a whole file; light or dark as the reader prefers

}  // namespace fovea
