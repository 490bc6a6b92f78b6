// Shared by all benchmarks: command-line options, interleaved timing, tables for people and JSON for machines.
//
// A benchmark checks its answers first. Then `measure` times all contenders of one row in turns (A, B, A, B, ...), so
// that a slow moment of the machine affects all of them alike.
//
//   const bench::Options options = bench::parse(argc, argv, "what this program measures");
//   bench::Table table("product", {"m", "ours ms", "peer ms", "speed-up"});
//   const auto time = bench::measure(options, {[&] { ours(); }, [&] { peer(); }});
//   table.add(m, time[0].median * 1e3, time[1].median * 1e3, bench::ratio(time[1], time[0]));
//   bench::report(options, {&table});
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace bench {

struct Options {
  bool quick = false;  // a short run: fewer cases, fewer repeats
  int threads = 0;     // 0: the benchmark's own choice
  std::string json;    // the tables are also written to this file
  std::string filter;  // only cases whose name contains it, where a program has named cases
  std::string python;  // the interpreter of a peer that is written in Python
  std::string peers;   // the figures that peers measured in the same run (bench/cuda)
  std::string data;    // the folder of a pretrained network
  std::string node;    // the folder whose node_modules has a peer that is written in JavaScript
  std::string peer;    // the peer to compare with, where there are several
  std::string model;   // a model folder
  std::string text;    // a file with one sentence in each line
  std::string plot;    // a file for the plots, SVG (bench/growth)
};

// Reads --quick, --threads N, --json FILE, --filter TEXT, --python PATH, --peers FILE, --data FOLDER, --node FOLDER,
// --peer NAME, --model FOLDER, --text FILE, --plot FILE.
// Prints help or an error and exits by itself.
Options parse(int argc, char** argv, const std::string& description);

// Seconds per call: the median of the repeats and their quartiles.
struct Timing {
  double median = 0, low = 0, high = 0;
};

// Returns one Timing per contender. A repeat has as many calls of a contender as the clock's resolution needs.
std::vector<Timing> measure(const Options& options, const std::vector<std::function<void()>>& contenders);

inline double ratio(const Timing& above, const Timing& below) { return above.median / below.median; }
// Half the distance between the quartiles, as a share of the median.
inline double spread(const Timing& time) { return (time.high - time.low) / (2 * time.median); }
double median_of(std::vector<double> values);

// Rows of named columns. Numbers are printed with four significant digits and kept whole in JSON.
using Cell = std::variant<double, std::string>;
class Table {
 public:
  Table(std::string name, std::vector<std::string> columns);
  // Prints the row at once, under the header if it is the first.
  template <class... Values> void add(const Values&... values) { add_row({cell(values)...}); }

  const std::string& name() const { return name_; }
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }

 private:
  template <class Value> static Cell cell(const Value& value) {
    if constexpr (std::is_arithmetic_v<Value>) {
      return static_cast<double>(value);
    } else {
      return std::string(value);
    }
  }
  void add_row(std::vector<Cell> row);

  std::string name_;
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Writes the tables to options.json, if that is set, with the name of the processor.
void report(const Options& options, const std::vector<const Table*>& tables);

// Prints an error and ends the program with status 1. Wrong answers are not timed.
[[noreturn]] void wrong(const std::string& what);

double peak_rss_mb();  // the peak resident size of this process
std::string processor_name();

}  // namespace bench
