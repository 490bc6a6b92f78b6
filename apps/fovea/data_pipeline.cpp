#include "fovea/data_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/signals.h"
#include "base/thousands.h"
#include "base/threads.h"
#include "corpora/noise.h"
#include "fovea/commands.h"
#include "fovea/flags.h"
#include "store/shipped.h"

namespace fovea::app {

namespace {

constexpr size_t kScoredAtOnce = 4096;

std::atomic<bool> interrupted = false;

Translator load(const std::string& model, const TranslatorOptions& options) {
  return Translator({find_model(model)}, options);
}

bool is_tsv(const std::string& path) { return path.ends_with(".tsv"); }

// "corpus.en" for the prefix "corpus".
std::string side_path(const std::string& prefix, const std::string& language, std::string_view otherwise) {
  return fmt::format("{}.{}", prefix, language.empty() ? otherwise : language);
}

}  // namespace

void add_pipeline_flags(CLI::App& command, PipelineFlags& flags) {
  command
      .add_option(
          "-o,--out", flags.output,
          "Where the pairs go: PREFIX writes PREFIX.en and PREFIX.zh, by the codes of the two languages; a name "
          "that ends with .tsv is one file with two columns. By default, TSV is printed.")
      ->type_name("PREFIX");
  command.add_option("--rejected", flags.rejected, "TSV file for what was dropped: reason, place, source, target.")
      ->type_name("FILE");
  command.add_option("--report", flags.report, "JSON file for the counts of what was dropped and why.")
      ->type_name("FILE");
  const std::string group = "Cleaning";
  add_flags(command, flags.cleaning, group);
  command
      .add_option("--held-out", flags.held_out,
                  "Test and validation files: pairs with one of their lines on either side are dropped.")
      ->type_name("FILE")
      ->group(group);
  const std::string noise = "Noise: dual conditional cross-entropy of two models (Junczys-Dowmunt 2018)";
  CLI::Option* forward = command.add_option("--forward", flags.forward, "Model from source to target.");
  CLI::Option* backward = command.add_option("--backward", flags.backward, "Model from target to source.");
  forward->type_name("DIR")->needs(backward)->group(noise);
  backward->type_name("DIR")->needs(forward)->group(noise);
  command
      .add_option("--keep", flags.keep,
                  "Keep this share of the pairs, those with the smallest scores. All pairs are held in memory.")
      ->type_name("SHARE")
      ->needs(forward)
      ->check(CLI::Range(1e-9, 1.0))
      ->group(noise);
  command.add_option("--max-score", flags.max_score, "Drop pairs with a larger score.")
      ->type_name("NUMBER")
      ->needs(forward)
      ->check(at_least(0))
      ->group(noise);
  command.add_option("--threads", flags.threads, "Number of CPU threads; 0 for all cores.")
      ->check(at_least(0))
      ->group(noise);
  add_flags(command, flags.translator, noise);
}

PairOutput::PairOutput(const std::string& path, const std::string& source_language, const std::string& target_language)
    : names_(path.empty() || path == "-" ? "standard output"
             : is_tsv(path)              ? path
                                         : fmt::format("{} and {}", side_path(path, source_language, "source"),
                                                       side_path(path, target_language, "target"))),
      source_(path.empty() || path == "-" || is_tsv(path) ? path : side_path(path, source_language, "source")) {
  if (!path.empty() && path != "-" && !is_tsv(path)) target_.emplace(side_path(path, target_language, "target"));
}

void PairOutput::write(const TextPair& pair) {
  if (!target_) return source_.write(fmt::format("{}\t{}\n", pair.source, pair.target));
  source_.write(pair.source + "\n");
  target_->write(pair.target + "\n");
}

void PairOutput::commit() {
  source_.commit();
  if (target_) target_->commit();
}

DataPipeline::DataPipeline(const PipelineFlags& flags, std::string source_language, std::string target_language)
    : flags_(flags), output_(flags.output, source_language, target_language) {
  check(!flags.scores() || flags.keep < 1 || flags.max_score < std::numeric_limits<double>::infinity(),
        "--forward and --backward score pairs: expected --keep or --max-score to drop some by their scores");
  if (flags.threads > 0) set_thread_count(flags.threads);
  if (flags.clean) {
    HeldOutTexts held_out;
    for (const std::string& path : flags.held_out) held_out.add(path);
    cleaner_.emplace(flags.cleaning, std::move(source_language), std::move(target_language), std::move(held_out));
  }
  if (flags.scores()) {
    forward_.emplace(load(flags.forward, flags.translator));
    backward_.emplace(load(flags.backward, flags.translator));
  }
  if (!flags.rejected.empty()) rejected_.emplace(flags.rejected);
}

void DataPipeline::take(TextPair pair) {
  if (interrupted) throw DataInterrupted();
  ++read_;
  if (read_ % 1000 == 0) console_.live(fmt::format("{} read, {} kept", counted(read_, "pair"), thousands(kept_)));
  if (cleaner_) {
    if (const std::string_view reason = cleaner_->reason_to_drop(pair); !reason.empty()) {
      return drop(pair, std::string(reason));
    }
  }
  if (!flags_.scores()) return write(pair);
  pending_.push_back(std::move(pair));
  if (pending_.size() - scores_.size() >= kScoredAtOnce) score_pending();
}

void DataPipeline::drop(const TextPair& pair, const std::string& reason) {
  ++dropped_[reason];
  if (rejected_) rejected_->write(fmt::format("{}\t{}\t{}\t{}\n", reason, pair.place, pair.source, pair.target));
}

void DataPipeline::write(const TextPair& pair) {
  ++kept_;
  output_.write(pair);
}

// Pairs whose score is too large for --max-score leave at once; without --keep, all others are written.
void DataPipeline::score_pending() {
  const auto show = [&](int64_t done) {
    if (interrupted) throw DataInterrupted();
    console_.live(fmt::format("{} read; scoring: {} of {}", counted(read_, "pair"), thousands(done),
                              thousands(2 * std::ssize(pending_) - 2 * std::ssize(scores_))));
  };
  const size_t first = scores_.size();
  const std::vector<double> scores = noise_scores(std::span(pending_).subspan(first), *forward_, *backward_, show);
  std::vector<TextPair> waiting(std::make_move_iterator(pending_.begin() + static_cast<std::ptrdiff_t>(first)),
                                std::make_move_iterator(pending_.end()));
  pending_.resize(first);
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (scores[i] > flags_.max_score || scores[i] == std::numeric_limits<double>::infinity()) {
      drop(waiting[i], scores[i] > flags_.max_score && scores[i] < std::numeric_limits<double>::infinity()
                           ? "noisy"
                           : "longer than the models read");
    } else if (flags_.keep < 1) {
      pending_.push_back(std::move(waiting[i]));
      scores_.push_back(scores[i]);
    } else {
      write(waiting[i]);
    }
  }
}

void DataPipeline::finish(const std::string& read) {
  if (pending_.size() > scores_.size()) score_pending();
  if (!pending_.empty()) {
    const double limit = score_limit(scores_, flags_.keep);
    for (size_t i = 0; i < pending_.size(); ++i) {
      if (scores_[i] <= limit) {
        write(pending_[i]);
      } else {
        drop(pending_[i], "noisy");
      }
    }
  }
  if (interrupted) throw DataInterrupted();
  output_.commit();
  if (rejected_) rejected_->commit();
  if (!flags_.report.empty()) write_file_atomically(flags_.report, report_json());
  console_.finish();
  if (!read.empty()) console_.line(read);
  const bool all = read_ > 0 && kept_ == read_;
  console_.line(fmt::format("wrote {}{} to {}", counted(kept_, "pair"),
                            all ? "" : fmt::format(" of {}", thousands(read_)), output_.names()));
  std::vector<std::pair<std::string, int64_t>> by_count(dropped_.begin(), dropped_.end());
  std::stable_sort(by_count.begin(), by_count.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [reason, count] : by_count) {
    console_.line(fmt::format("  dropped {:>10}  {:5.1f}%  {}", thousands(count),
                              100.0 * static_cast<double>(count) / static_cast<double>(read_), reason));
  }
  if (kept_ == 0) console_.line("warning: no pair is left");
}

std::string DataPipeline::report_json() const {
  return nlohmann::ordered_json{{"read", read_}, {"kept", kept_}, {"dropped", dropped_}}.dump(2) + "\n";
}

int run_interruptible(const std::function<void()>& work) {
  interrupted = false;
  const Signals signals([] { interrupted = true; });
  try {
    work();
  } catch (const DataInterrupted&) {
    fmt::print(stderr, "interrupted: nothing was written\n");
    return kInterrupted;
  }
  return kDone;
}

}  // namespace fovea::app
