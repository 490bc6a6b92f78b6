// How the cost of a training step grows with the length of sentences, the batch, the vocabulary and the width of the
// model, for Fovea and PyTorch: tables with the exponents, and plots with logarithmic axes.
//   bench/growth [--python PATH] [--threads N] [--quick] [--json FILE] [--plot FILE] [--filter transformer]
// Each point is a pair of processes, timed in turns; bench/train checks the gradients of the same models.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "base/threads.h"
#include "bench/plot.h"
#include "bench/training.h"

namespace {

struct Axis {
  const char *name, *unit;
  int64_t bench::Sizes::*size;
  std::vector<int64_t> values;
};

// The other sizes are small enough that the one that grows decides the cost.
const std::vector<Axis>& axes() {
  static const std::vector<Axis> list = {
      {"length", "tokens of a sentence", &bench::Sizes::length, {16, 32, 64, 128, 256}},
      {"batch", "sentences of a batch", &bench::Sizes::batch, {4, 16, 64, 256}},
      {"vocabulary", "target words", &bench::Sizes::vocabulary, {2'000, 8'000, 32'000, 128'000}},
      {"width", "width of the model", &bench::Sizes::width, {64, 128, 256, 512}},
  };
  return list;
}

struct Cost {
  double seconds = std::numeric_limits<double>::infinity(), peak_mb = 0;
};

// The fastest mode of Fovea and of PyTorch, whose seconds stay infinite where PyTorch is absent.
std::pair<Cost, Cost> measure(const bench::Options& options, const std::string& model, const bench::Sizes& sizes,
                              int threads) {
  const auto contenders = bench::start_contenders(options, model, "train", threads, sizes);
  std::vector<bench::Worker*> workers;
  for (const auto& contender : contenders) workers.push_back(contender.get());
  const std::vector<double> times = bench::time_in_turns(workers, {"step", options.quick ? 3 : 5, 0.1});
  std::pair<Cost, Cost> best;
  for (size_t i = 0; i < workers.size(); ++i) {
    Cost& cost = workers[i]->name().starts_with("fovea") ? best.first : best.second;
    if (times[i] < cost.seconds) cost = {times[i], workers[i]->memory().peak};
  }
  return best;
}

std::string with_slope(const std::string& name, const bench::Points& points) {
  return fmt::format("{} (slope {:.2f})", name, bench::slope(points, 3));
}

}  // namespace

int main(int argc, char** argv) {
  if (bench::is_training_worker(argc, argv)) return bench::run_training_worker(argc, argv);
  const bench::Options options = bench::parse(argc, argv, "How the cost of a training step grows: ours and PyTorch's");
  const int threads = options.threads > 0 ? options.threads : fovea::thread_count();
  bench::Table table(
      fmt::format("growth of a training step, {} threads", threads),
      {"encoder-decoder", "growing size", "size", "ours ms", "torch ms", "torch / ours", "ours MB", "torch MB"});
  bench::Table slopes("exponents over the three largest sizes", {"encoder-decoder", "growing size", "ours", "torch"});
  struct Exponent {
    std::string model, axis;
    double ours, torch;
  };
  std::vector<Exponent> exponents;
  std::vector<bench::Plot> plots;
  for (const std::string model : {"bahdanau", "transformer"}) {
    if (model.find(options.filter) == std::string::npos) continue;
    for (const Axis& axis : axes()) {
      bench::Points ours, torch;
      for (size_t i = 0; i < axis.values.size() - (options.quick ? 1 : 0); ++i) {
        bench::Sizes sizes{.batch = 16};
        sizes.*axis.size = axis.values[i];
        const auto [a, b] = measure(options, model, sizes, threads);
        const auto size = static_cast<double>(axis.values[i]);
        ours.emplace_back(size, a.seconds * 1e3);
        if (std::isfinite(b.seconds)) torch.emplace_back(size, b.seconds * 1e3);
        table.add(model, axis.name, axis.values[i], a.seconds * 1e3, b.seconds * 1e3, b.seconds / a.seconds, a.peak_mb,
                  b.peak_mb);
      }
      exponents.push_back({model, axis.name, bench::slope(ours, 3), bench::slope(torch, 3)});
      bench::Plot plot{
          fmt::format("{}: {}", model, axis.name), axis.unit, "ms a step", {{with_slope("Fovea", ours), ours}}};
      if (!torch.empty()) plot.curves.push_back({with_slope("PyTorch", torch), torch});
      plots.push_back(std::move(plot));
    }
  }
  for (const Exponent& e : exponents) slopes.add(e.model, e.axis, e.ours, e.torch);
  bench::report(options, {&table, &slopes});
  if (options.plot.empty()) return 0;
  std::ofstream file(options.plot);
  file << bench::plots_svg(plots);
  if (!file.flush()) bench::wrong(options.plot + ": cannot write");
}
