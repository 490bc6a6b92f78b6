// What `fovea data import` and `fovea data clean` share: pairs are cleaned, scored for noise and written, and what was
// dropped is counted and reported.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "corpora/clean.h"
#include "decode/translator.h"
#include "fovea/console.h"
#include "fovea/output.h"

namespace fovea::app {

struct PipelineFlags {
  bool clean = false;
  CleanOptions cleaning;
  std::vector<std::string> held_out;
  std::string forward, backward;  // models of the noise score
  double keep = 1, max_score = std::numeric_limits<double>::infinity();
  int threads = 0;
  TranslatorOptions translator;
  std::string output, rejected, report;

  bool scores() const { return !forward.empty(); }
};
void add_pipeline_flags(CLI::App& command, PipelineFlags& flags);

// Writes many short lines in few large blocks.
class BufferedOutput {
 public:
  explicit BufferedOutput(const std::string& path) : output_(path) {}
  void write(std::string_view text) {
    constexpr size_t kBlock = size_t{1} << 16;
    buffer_ += text;
    if (buffer_.size() >= kBlock) flush();
  }
  void commit() {
    flush();
    output_.commit();
  }

 private:
  void flush() {
    output_.write(buffer_);
    buffer_.clear();
  }

  Output output_;
  std::string buffer_;
};

// Writes pairs to PREFIX.SOURCE and PREFIX.TARGET, to a TSV file or to standard output.
class PairOutput {
 public:
  PairOutput(const std::string& path, const std::string& source_language, const std::string& target_language);
  void write(const TextPair& pair);
  void commit();
  const std::string& names() const { return names_; }

 private:
  std::string names_;
  BufferedOutput source_;
  std::optional<BufferedOutput> target_;
};

// Ctrl-C ends the work by this exception, so that temporary files are removed.
struct DataInterrupted {};

class DataPipeline final : public PairSink {
 public:
  DataPipeline(const PipelineFlags& flags, std::string source_language, std::string target_language);
  void take(TextPair pair) override;
  // Writes what is left and reports. `read` is a line about the input; may be empty.
  void finish(const std::string& read);

 private:
  void drop(const TextPair& pair, const std::string& reason);
  void score_pending();
  void write(const TextPair& pair);
  std::string report_json() const;

  const PipelineFlags& flags_;
  PairOutput output_;
  std::optional<BufferedOutput> rejected_;
  std::optional<Cleaner> cleaner_;
  std::optional<Translator> forward_, backward_;
  Console console_{stderr};
  // Pairs that wait for their score. With --keep, which depends on all scores, pairs stay here until the end.
  std::vector<TextPair> pending_;
  std::vector<double> scores_;  // of the first pending pairs
  int64_t read_ = 0, kept_ = 0;
  std::map<std::string, int64_t> dropped_;
};

// Runs the work so that Ctrl-C removes unfinished files. Returns the exit status.
int run_interruptible(const std::function<void()>& work);

}  // namespace fovea::app
