// The CUDA backend on a card: training steps, attention alone and decoding, each checked before it is timed.
//   bench/cuda [--quick] [--json FILE] [--filter train|attention|generate|name] [--peers FILE]
// --peers is the JSON file that the programs of bench/peers write; bench/card runs both sides in turns.
#include "bench/cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/files.h"
#include "base/json.h"
#include "kernels/cuda/recurrent/recurrent_layer.h"

namespace bench {

double time_on_card(const std::function<void()>& call, int warm, int repeats) {
  std::vector<double> seconds;
  for (int i = 0; i < warm + repeats; ++i) {
    fovea::cuda::synchronize(kCard);
    const auto begin = std::chrono::steady_clock::now();
    call();
    fovea::cuda::synchronize(kCard);
    if (i >= warm) seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return median_of(seconds);
}

double distance(const std::vector<float>& got, const std::vector<float>& expected) {
  double apart = 0, length = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    apart += std::pow(static_cast<double>(got[i]) - expected[i], 2);
    length += std::pow(static_cast<double>(expected[i]), 2);
  }
  return std::sqrt(apart / length);
}

Table shares_table(const std::string& title) { return {title, {"work", "kernel", "calls", "ms", "percent"}}; }

void add_shares(const std::string& name, const fovea::KernelProfile& profile, Table& table) {
  double total = 0;
  for (const auto& entry : profile.entries()) total += entry.seconds;
  for (const auto& entry : profile.entries()) {
    if (entry.seconds < 0.01 * total) continue;
    table.add(name, entry.name, entry.calls, entry.seconds * 1e3, 100 * entry.seconds / total);
  }
  table.add(name, "all", 0, total * 1e3, 100);
}

PeerFigures::PeerFigures(const std::string& path) {
  if (path.empty()) return;
  const fovea::Json json = fovea::parse_json(fovea::read_file(path), path);
  if (!json.is_object()) wrong(path + ": expected the figures of PyTorch as JSON");
  for (const auto& [name, figures] : json.items()) {
    for (const auto& [figure, value] : figures.items()) {
      if (value.is_number()) entries_[name][figure] = value.get<double>();
    }
  }
}

std::vector<double> PeerFigures::all(const std::vector<std::string>& words, const std::string& figure) const {
  std::vector<double> found;
  for (const auto& [name, figures] : entries_) {
    const auto contains = [&text = name](const std::string& word) { return text.find(word) != std::string::npos; };
    const auto value = figures.find(figure);
    if (value != figures.end() && std::all_of(words.begin(), words.end(), contains)) found.push_back(value->second);
  }
  return found;
}
double PeerFigures::least(const std::vector<std::string>& words, const std::string& figure) const {
  const std::vector<double> found = all(words, figure);
  return found.empty() ? 0.0 : *std::min_element(found.begin(), found.end());
}
double PeerFigures::most(const std::vector<std::string>& words, const std::string& figure) const {
  const std::vector<double> found = all(words, figure);
  return found.empty() ? 0.0 : *std::max_element(found.begin(), found.end());
}

}  // namespace bench

int main(int argc, char** argv) {
  const bench::Options options = bench::parse(argc, argv, "The CUDA backend on a card");
  if (fovea::cuda::device_count() == 0) {
    fmt::print("no card here: nothing to measure\n");
    return 0;
  }
  // For comparison: recurrent layers run step by step instead of in one kernel.
  if (std::getenv("FOVEA_STEP_BY_STEP") != nullptr) fovea::cuda::persistent_limits.min_steps = 1 << 20;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const bench::PeerFigures peers(options.peers);
  std::vector<bench::Table> tables;
  for (const auto part : {bench::cuda_training, bench::cuda_attention, bench::cuda_generation}) {
    for (bench::Table& table : part(options, peers)) tables.push_back(std::move(table));
  }
  std::vector<const bench::Table*> all;
  for (const bench::Table& table : tables) all.push_back(&table);
  bench::report(options, all);
}
