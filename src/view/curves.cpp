#include "view/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"

namespace fovea {

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
// A loss that falls by more than this factor is drawn on a logarithmic scale.
constexpr double kWideRange = 20;

// The fields of one line of the file. JSON has neither infinity nor NaN; the trainer writes null instead.
class Line {
 public:
  Line(const std::string& text, std::string where) : where_(std::move(where)) {
    json_ = parse_json(text, where_);
    check(json_.is_object(), "{}: expected a JSON object, got {}", where_, brief_value(json_));
  }

  std::string text(const char* key) const {
    check(json_.contains(key) && json_[key].is_string(), "{}: expected a text \"{}\"", where_, key);
    return json_[key].get<std::string>();
  }
  double number(const char* key) const {
    check(json_.contains(key) && (json_[key].is_number() || json_[key].is_null()), "{}: expected a number \"{}\"",
          where_, key);
    return json_[key].is_null() ? kNothing : json_[key].get<double>();
  }
  double step() const {
    const double step = number("step");
    check(step >= 0, "{}: expected a step from 0 up", where_);
    return step;
  }
  // The names of the task's own metrics: every number that is not part of all validations.
  std::vector<std::string> metrics() const {
    const std::set<std::string> known = {"event", "step", "epoch", "loss", "best", "minutes"};
    std::vector<std::string> names;
    for (const auto& [key, value] : json_.items()) {
      if (!known.contains(key) && (value.is_number() || value.is_null())) names.push_back(key);
    }
    return names;
  }

 private:
  std::string where_;
  Json json_;
};

void add_line(RunCurves& run, const Line& line) {
  const std::string event = line.text("event");
  if (event == "train") {
    run.train_loss.push_back({line.step(), line.number("loss")});
    run.learning_rate.push_back({line.step(), line.number("learning_rate")});
  } else if (event == "validation") {
    run.validation_loss.push_back({line.step(), line.number("loss")});
    for (const std::string& name : line.metrics())
      run.metrics[name].push_back({line.step(), line.number(name.c_str())});
  }
}

void fit_axes(CurvePanel& panel) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  panel.low = kInfinity;
  panel.high = -kInfinity;
  for (const PanelCurve& curve : panel.curves) {
    for (const auto& [step, value] : *curve.points) {
      if (!std::isfinite(value)) continue;
      panel.last_step = std::max(panel.last_step, step);
      panel.low = std::min(panel.low, value);
      panel.high = std::max(panel.high, value);
    }
  }
}

void add_panel(std::vector<CurvePanel>& panels, CurvePanel panel) {
  fit_axes(panel);
  if (panel.low > panel.high) return;  // there is no point
  std::erase_if(panel.curves, [](const PanelCurve& curve) { return curve.points->empty(); });
  panels.push_back(std::move(panel));
}

// At most `most` round numbers: multiples of 1, 2 or 5 times a power of ten.
std::vector<double> round_ticks(double low, double high, int most) {
  if (!(high > low)) return {low};
  double power = std::pow(10, std::floor(std::log10((high - low) / most)) - 1);
  for (;; power *= 10) {
    for (const double part : {1.0, 2.0, 5.0}) {
      const double gap = part * power;
      const double first = std::ceil(low / gap - 1e-9), last = std::floor(high / gap + 1e-9);
      if (last - first + 1 > most) continue;
      std::vector<double> ticks;
      for (double i = first; i <= last; ++i) ticks.push_back(i * gap);
      return ticks.empty() ? std::vector<double>{low} : ticks;
    }
  }
}

// Powers of ten, or 1 and 3, or 1, 2 and 5 times them: the densest that has at most `most` ticks.
std::vector<double> logarithmic_ticks(double low, double high, int most) {
  std::vector<double> best = {low};
  for (const std::vector<double>& parts : {std::vector<double>{1}, {1, 3}, {1, 2, 5}}) {
    std::vector<double> ticks;
    for (double power = std::pow(10, std::floor(std::log10(low))); power <= high * (1 + 1e-9); power *= 10) {
      for (const double part : parts) {
        const double tick = part * power;
        if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
      }
    }
    if (!ticks.empty() && static_cast<int>(ticks.size()) <= most) best = ticks;
  }
  return best;
}

std::string name_among(std::span<const RunCurves> runs, size_t i) {
  const auto same = [&](const RunCurves& run) { return run.name == runs[i].name; };
  return std::count_if(runs.begin(), runs.end(), same) > 1 && !runs[i].folder.empty() ? runs[i].folder : runs[i].name;
}

double share(double low, double high, double value) { return high > low ? (value - low) / (high - low) : 0.5; }

}  // namespace

RunCurves read_run(const std::string& folder) {
  const std::string path = folder + "/metrics.jsonl";
  const std::string bytes = read_file(path);
  RunCurves run{.folder = folder};
  const std::filesystem::path given(folder);
  run.name = (given.has_filename() ? given.filename() : given.parent_path().filename()).string();
  if (run.name.empty() || run.name == ".") run.name = folder;
  size_t begin = 0;
  for (int64_t number = 1; begin < bytes.size(); ++number) {
    const size_t end = bytes.find('\n', begin);
    const std::string text = bytes.substr(begin, end == std::string::npos ? end : end - begin);
    // A last line without a newline may be incomplete.
    if (end == std::string::npos && !Json::accept(text)) break;
    add_line(run, Line(text, fmt::format("{}:{}", path, number)));
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return run;
}

std::vector<CurvePanel> curve_panels(std::span<const RunCurves> runs) {
  check(!runs.empty(), "curves: expected at least one run, got none");
  CurvePanel loss{.title = "loss"}, rate{.title = "learning rate"};
  std::map<std::string, CurvePanel> metrics;
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::string name = name_among(runs, i);
    loss.curves.push_back({.name = name + ", training", .run = i, .points = &runs[i].train_loss});
    loss.curves.push_back(
        {.name = name + ", validation", .run = i, .marked = true, .points = &runs[i].validation_loss});
    rate.curves.push_back({.name = name, .run = i, .points = &runs[i].learning_rate});
    for (const auto& [metric, curve] : runs[i].metrics) {
      metrics[metric].title = "validation " + metric;
      metrics[metric].curves.push_back({.name = name, .run = i, .marked = true, .points = &curve});
    }
  }
  std::vector<CurvePanel> panels;
  add_panel(panels, std::move(loss));
  if (!panels.empty() && panels[0].low > 0 && panels[0].high > kWideRange * panels[0].low) panels[0].logarithmic = true;
  for (auto& [name, panel] : metrics) add_panel(panels, std::move(panel));
  add_panel(panels, std::move(rate));
  double last_step = 0;
  for (const CurvePanel& panel : panels) last_step = std::max(last_step, panel.last_step);
  for (CurvePanel& panel : panels) panel.last_step = last_step;
  check(!panels.empty(), "curves: nothing has been measured yet in {}", runs.front().name);
  return panels;
}

double CurvePanel::across(double step) const { return share(0, last_step, step); }

double CurvePanel::up(double value) const {
  return logarithmic ? share(std::log(low), std::log(high), std::log(value)) : share(low, high, value);
}

std::vector<double> CurvePanel::step_ticks(int most) const { return round_ticks(0, last_step, most); }

std::vector<double> CurvePanel::value_ticks(int most) const {
  return logarithmic ? logarithmic_ticks(low, high, most) : round_ticks(low, high, most);
}

std::string tick_text(double value) {
  if (std::abs(value) >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (std::abs(value) >= 1e4) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:.4g}", std::abs(value) < 1e-12 ? 0.0 : value);
}

}  // namespace fovea
