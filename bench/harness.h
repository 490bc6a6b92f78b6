// What every benchmark here shares: flags, interleaved timing, a table for people and JSON for machines.
//
// A benchmark checks its answers first, then hands all contenders of one row to `measure`, which runs
// them in turns (A, B, A, B, ...), so that a slow moment of the machine falls on all of them alike.
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
  int threads = 0;     // 0: whatever the program measures by itself
  std::string json;    // file the tables are written to, if any
  std::string filter;  // only cases whose name contains it, where a program has named cases
  std::string python;  // what runs a peer written in Python, where a program has one
  std::string peers;   // a file with what peers measured in the same run, where a program takes one
};

// Reads --quick, --threads N, --json FILE, --filter TEXT, --python PATH, --peers FILE. Prints help or an error and
// exits by itself.
Options parse(int argc, char** argv, const std::string& description);

// Seconds a call: the median of the repeats and their quartiles.
struct Timing {
  double median = 0, low = 0, high = 0;
};

// One Timing for each contender. Short ones are called several times within a repeat, so that every
// repeat is long enough for the clock.
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

// Writes the tables to options.json, if it was asked for, with the processor's name and what else a
// reader needs to judge the numbers.
void report(const Options& options, const std::vector<const Table*>& tables);

// Says what failed and ends the program with an error: a wrong answer is not timed.
[[noreturn]] void wrong(const std::string& what);

double peak_rss_mb();  // the largest resident size of the process so far
std::string processor_name();

}  // namespace bench
