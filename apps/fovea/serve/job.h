// The work of one request for a model, in the queue of its worker. A job may be decoded in several pieces, so that a
// long one does not delay the others.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "decode/paragraphs.h"
#include "decode/translator.h"
#include "tasks/captioner.h"
#include "tasks/classifier.h"
#include "tasks/reader.h"

namespace fovea::app {

// For texts that are tokenised later: an English word of six letters counts as two tokens, a Chinese character as one.
inline int64_t estimated_tokens(const std::string& text) { return std::ssize(text) / 3 + 1; }

using Clock = std::chrono::steady_clock;

// What the kinds of jobs that search have alike.
struct Searching {
  SearchOptions search;  // its prefixes are this job's own
  bool wants_steps = false, wants_tree = false;
  std::vector<SearchTree> trees;

  int64_t beams() const;
  std::string options_text() const;  // equal for jobs that may be decoded in one batch
};

class Job {
 public:
  // What one sentence of a job costs.
  struct Size {
    int64_t tokens = 0;  // that are read, the end mark counted
    int64_t cost = 0;  // target tokens that may be computed, times the beam; tokens that are read if nothing is written
  };

  // The kinds of jobs, each with its inputs beside the sources and its results. The results are vectors with an
  // element for each source: the worker of a piece writes its own sentences, and the client's side reads them once the
  // job is done.
  struct Translate : Searching {
    // A text whose parts are sources of the job, from `first` on.
    struct Text {
      std::string text;
      std::vector<TextPart> parts;
      size_t first = 0;
    };
    std::vector<Translation> translations;
    std::vector<Text> texts;  // empty if every source is a text

    size_t size() const { return texts.empty() ? translations.size() : texts.size(); }
    Translation whole(size_t text) const;  // with the translations of its parts

    std::string group() const { return "translate" + options_text(); }
    Size size_of(size_t sentence, const TokenisedLine& source, int64_t max_source) const;
    int64_t written(size_t sentence) const;  // target tokens of all its hypotheses
    void resize_results(size_t sentences);
  };
  struct Score {
    std::vector<SharedLine> targets;
    ScoreOptions options;
    std::vector<Hypothesis> scores;

    std::string group() const;
    static int64_t beams() { return 1; }
    Size size_of(size_t sentence, const TokenisedLine& source, int64_t max_source) const;
    static int64_t written(size_t /*sentence*/) { return 0; }
    void resize_results(size_t sentences) { scores.resize(sentences); }
  };
  // A classifier and a reader tokenise by themselves: the sources of these two kinds have texts alone.
  struct Classify {
    ClassifyOptions options;
    std::vector<Classification> results;

    std::string group() const;
    static int64_t beams() { return 1; }
    static Size size_of(size_t sentence, const TokenisedLine& source, int64_t max_source);
    static int64_t written(size_t /*sentence*/) { return 0; }
    void resize_results(size_t sentences) { results.resize(sentences); }
  };
  struct Read {
    std::vector<std::string> questions;  // the sources are their passages
    AnswerOptions options;
    std::vector<Reading> results;

    std::string group() const;
    static int64_t beams() { return 1; }
    Size size_of(size_t sentence, const TokenisedLine& source, int64_t max_source) const;
    static int64_t written(size_t /*sentence*/) { return 0; }
    void resize_results(size_t sentences) { results.resize(sentences); }
  };
  // Pictures are decoded by the worker; the sources have their names alone.
  struct Caption : Searching {
    struct Picture {
      std::string bytes;
      int64_t pixels = 0;
    };
    std::vector<Picture> pictures;
    std::vector<fovea::Caption> captions;
    std::vector<RecordImage> shown;  // what records show, if weights are captured

    std::string group() const { return "caption" + options_text(); }
    Size size_of(size_t sentence, const TokenisedLine& source, int64_t max_source) const;
    int64_t written(size_t sentence) const;
    void resize_results(size_t sentences);
  };
  using Kind = std::variant<Translate, Score, Classify, Read, Caption>;

  // The request. None of it changes once the job is queued.
  std::vector<SharedLine> sources;
  Kind kind;
  bool alone = false;       // it is decoded whole and by itself: its options cannot be shared with other jobs
  std::string group;        // jobs of one group are of one kind and may be decoded in one batch; set by prepare
  std::vector<Size> sizes;  // of each source
  Size size_sum;
  Clock::time_point queued, deadline;
  std::function<void()> notify;       // called when there is a new step and when the job is done, on a worker's thread
  std::string client;                 // who asked: clients take turns
  std::shared_ptr<void> reservation;  // the client's budget that the job occupies until it is done

  // How it ended.
  std::exception_ptr error;
  std::atomic<int64_t> together = 0;  // the largest number of sentences in one batch with this job
  std::atomic<bool> dropped = false;  // it was cancelled or ran out of time: the result is incomplete

  Job(std::vector<SharedLine> with_sources, Kind of_kind)
      : sources(std::move(with_sources)), kind(std::move(of_kind)) {}
  void prepare(int64_t max_source);  // sets the group and the sizes, and makes room for the results
  size_t size() const { return sources.size(); }
  int64_t beams() const {
    return std::visit([](const auto& k) { return k.beams(); }, kind);
  }
  int64_t written(size_t sentence) const {
    return std::visit([&](const auto& k) { return k.written(sentence); }, kind);
  }
  const Translate& translate() const { return std::get<Translate>(kind); }
  Translate& translate() { return std::get<Translate>(kind); }
  const Score& score() const { return std::get<Score>(kind); }
  Score& score() { return std::get<Score>(kind); }
  const Classify& classify() const { return std::get<Classify>(kind); }
  Classify& classify() { return std::get<Classify>(kind); }
  const Read& read() const { return std::get<Read>(kind); }
  Read& read() { return std::get<Read>(kind); }
  const Caption& caption() const { return std::get<Caption>(kind); }
  Caption& caption() { return std::get<Caption>(kind); }
  Searching& searching() {
    auto* captions = std::get_if<Caption>(&kind);
    return captions != nullptr ? static_cast<Searching&>(*captions) : translate();
  }

  // The client's side.
  bool is_done() const;
  std::optional<SearchStep> next_step();  // a step that has not been taken yet
  void cancel() { cancelled_ = true; }

  // The worker's side. The queue's lock guards `taken`.
  size_t taken = 0;  // sentences that workers have begun or finished
  bool is_wanted() const { return !cancelled_ && !failed_ && Clock::now() < deadline; }
  void add_step(const SearchStep& step);
  void fail(std::exception_ptr with);
  // So many sentences are finished or given up. Done when all are.
  void finish(size_t sentences);

 private:
  mutable std::mutex mutex_;
  std::deque<SearchStep> steps_;
  size_t finished_ = 0;
  std::atomic<bool> cancelled_ = false, failed_ = false;
};

}  // namespace fovea::app
