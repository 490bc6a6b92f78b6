#include "bench/harness.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace bench {

namespace {

double seconds_of(const std::function<void()>& work, int calls) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string text_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const double value = std::get<double>(cell);
  if (value == std::round(value) && std::abs(value) < 1e9) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

size_t width_of(const std::string& column) { return std::max<size_t>(column.size(), 8) + 2; }

}  // namespace

Options parse(int argc, char** argv, const std::string& description) {
  Options options;
  CLI::App app(description);
  app.add_flag("--quick", options.quick, "A short run: fewer cases, fewer repeats");
  app.add_option("--threads", options.threads, "Threads to use (0: the benchmark's own choice)");
  app.add_option("--json", options.json, "Also write the results to this file");
  app.add_option("--filter", options.filter, "Only cases whose name contains this");
  app.add_option("--peers", options.peers, "The figures that peers measured in the same run");
  app.add_option("--python", options.python, "The Python interpreter that runs the peer (default: Debian's)");
  app.add_option("--data", options.data, "The folder of a pretrained network");
  app.add_option("--node", options.node, "The folder whose node_modules has the JavaScript peer");
  app.add_option("--peer", options.peer, "The peer to compare with (default: the benchmark's own)");
  app.add_option("--model", options.model, "A model folder");
  app.add_option("--text", options.text, "A file with one sentence in each line");
  app.add_option("--plot", options.plot, "Write the plots to this SVG file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

std::vector<Timing> measure(const Options& options, const std::vector<std::function<void()>>& contenders) {
  const double shortest = options.quick ? 2e-3 : 5e-3;  // of a repeat, in seconds
  const double budget = options.quick ? 0.1 : 0.6;      // of a contender
  const int least = options.quick ? 3 : 7, most = options.quick ? 15 : 61;

  std::vector<int> calls(contenders.size(), 1);
  int repeats = most;
  for (size_t i = 0; i < contenders.size(); ++i) {
    double once = seconds_of(contenders[i], 1);  // the first call also warms caches and packs weights
    if (once < budget) once = std::min(once, seconds_of(contenders[i], 1));
    calls[i] = std::clamp(static_cast<int>(shortest / std::max(once, 1e-8)), 1, 100000);
    const double repeat = seconds_of(contenders[i], calls[i]);
    repeats = std::clamp(static_cast<int>(budget / std::max(repeat, 1e-8)), least, repeats);
  }

  std::vector<std::vector<double>> samples(contenders.size());
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (size_t i = 0; i < contenders.size(); ++i) samples[i].push_back(seconds_of(contenders[i], calls[i]) / calls[i]);
  }
  std::vector<Timing> timings;
  for (auto& sample : samples) {
    std::sort(sample.begin(), sample.end());
    const size_t last = sample.size() - 1;
    timings.push_back({.median = median_of(sample), .low = sample[last / 4], .high = sample[last - last / 4]});
  }
  return timings;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Table::Table(std::string name, std::vector<std::string> columns)
    : name_(std::move(name)), columns_(std::move(columns)) {}

void Table::add_row(std::vector<Cell> row) {
  if (row.size() != columns_.size())
    wrong(fmt::format("{}: a row of {} for {} columns", name_, row.size(), columns_.size()));
  if (rows_.empty()) {
    fmt::print("\n{}\n", name_);
    for (const std::string& column : columns_) fmt::print("{:>{}}", column, width_of(column));
    fmt::print("\n");
  }
  for (size_t i = 0; i < row.size(); ++i) fmt::print("{:>{}}", text_of(row[i]), width_of(columns_[i]));
  fmt::print("\n");
  std::fflush(stdout);
  rows_.push_back(std::move(row));
}

void report(const Options& options, const std::vector<const Table*>& tables) {
  if (options.json.empty()) return;
  nlohmann::ordered_json out = {{"processor", processor_name()}, {"quick", options.quick}};
  for (const Table* table : tables) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const auto& row : table->rows()) {
      nlohmann::ordered_json object;
      for (size_t i = 0; i < row.size(); ++i) {
        std::visit([&](const auto& value) { object[table->columns()[i]] = value; }, row[i]);
      }
      rows.push_back(std::move(object));
    }
    out["tables"][table->name()] = std::move(rows);
  }
  std::ofstream file(options.json);
  file << out.dump(1) << '\n';
  file.close();
  if (!file) wrong(fmt::format("cannot write {}", options.json));
}

void wrong(const std::string& what) {
  fmt::print(stderr, "error: {}\n", what);
  std::exit(1);
}

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace bench
