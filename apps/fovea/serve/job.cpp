#include "fovea/serve/job.h"

#include <fmt/format.h>

#include <algorithm>

#include "decode/options.h"

namespace fovea::app {

namespace {

int64_t tokens_read(const TokenisedLine& source, int64_t max_source) {
  return std::min<int64_t>(std::ssize(source.ids), max_source) + 1;
}

// Of all hypotheses of a translation or a caption.
int64_t tokens_written(const auto& result) {
  int64_t tokens = 0;
  for (const auto& c : result.candidates) tokens += std::ssize(c.hypothesis.log_probs);
  return tokens;
}

}  // namespace

bool Job::is_done() const {
  const std::lock_guard lock(mutex_);
  return finished_ == sources.size();
}

std::optional<SearchStep> Job::next_step() {
  const std::lock_guard lock(mutex_);
  if (steps_.empty()) return std::nullopt;
  SearchStep step = std::move(steps_.front());
  steps_.pop_front();
  return step;
}

void Job::add_step(const SearchStep& step) {
  {
    const std::lock_guard lock(mutex_);
    steps_.push_back(step);
  }
  if (notify) notify();
}

void Job::fail(std::exception_ptr with) {
  const std::lock_guard lock(mutex_);
  if (!error) error = std::move(with);
  failed_ = true;
}

void Job::finish(size_t sentences) {
  {
    const std::lock_guard lock(mutex_);
    finished_ += sentences;
    if (finished_ < sources.size()) return;
    reservation.reset();
  }
  if (notify) notify();
}

std::string Searching::options_text() const {
  std::string group = fmt::format(" {} {}", search.capture_weights, search.alternatives);
  SearchOptions copy = search;
  const Fields fields = fields_of(copy);
  for (const Field& field : fields.list()) group += " " + field.text();
  return group;
}

int64_t Searching::beams() const { return beams_of(search); }

// A translation is rarely twice as long as its source; a search that does not end is stopped by the deadline.
Job::Size Job::Translate::size_of(size_t sentence, const TokenisedLine& source, int64_t max_source) const {
  const int64_t source_tokens = tokens_read(source, max_source);
  const int64_t most = max_target_length(search, source_tokens, static_cast<int64_t>(sentence));
  // Samples may be as long as they are allowed to be: at a high temperature the end mark is rare.
  const int64_t usual = search.sample ? most : std::max(search.min_length, 2 * source_tokens + 10);
  return {.tokens = source_tokens, .cost = beams() * std::min(most, usual)};
}

int64_t Job::Translate::written(size_t sentence) const { return tokens_written(translations[sentence]); }

Translation Job::Translate::whole(size_t text) const {
  if (texts.empty()) return translations[text];
  const Text& of = texts[text];
  return join_translations(of.text, of.parts, std::span(translations).subspan(of.first, of.parts.size()));
}

void Job::Translate::resize_results(size_t sentences) {
  translations.resize(sentences);
  if (wants_tree) trees.resize(sentences);
}

std::string Job::Score::group() const {
  return fmt::format("score {} {}", options.capture_weights, options.alternatives);
}

Job::Size Job::Score::size_of(size_t sentence, const TokenisedLine& source, int64_t max_source) const {
  const int64_t target = std::ssize(targets[sentence]->ids) + 1;
  return {.tokens = tokens_read(source, max_source) + target, .cost = target};
}

std::string Job::Classify::group() const { return fmt::format("classify {}", options.capture_weights); }

Job::Size Job::Classify::size_of(size_t /*sentence*/, const TokenisedLine& source, int64_t max_source) {
  const int64_t tokens = std::min(estimated_tokens(source.text), max_source);
  return {.tokens = tokens, .cost = tokens};
}

std::string Job::Read::group() const { return fmt::format("read {} {}", options.nbest, options.capture_weights); }

// Every question reads the passage anew.
Job::Size Job::Read::size_of(size_t sentence, const TokenisedLine& source, int64_t /*max_source*/) const {
  const int64_t tokens = estimated_tokens(source.text) + estimated_tokens(questions[sentence]);
  return {.tokens = tokens, .cost = tokens};
}

// To read a picture and to compute its feature map takes as long as some hundred tokens.
Job::Size Job::Caption::size_of(size_t sentence, const TokenisedLine& /*source*/, int64_t max_source) const {
  constexpr int64_t kNetwork = 100, kPixelsPerToken = 50'000, kUsualLength = 30;
  const int64_t most = max_target_length(search, max_source, static_cast<int64_t>(sentence));
  const int64_t usual = search.sample ? most : std::max(search.min_length, kUsualLength);
  return {.tokens = max_source,
          .cost = kNetwork + pictures[sentence].pixels / kPixelsPerToken + beams() * std::min(most, usual)};
}

int64_t Job::Caption::written(size_t sentence) const { return tokens_written(captions[sentence]); }

void Job::Caption::resize_results(size_t sentences) {
  captions.resize(sentences);
  shown.resize(sentences);
  if (wants_tree) trees.resize(sentences);
}

void Job::prepare(int64_t max_source) {
  std::visit(
      [&](auto& of_kind) {
        group = of_kind.group();
        of_kind.resize_results(sources.size());
        for (size_t i = 0; i < sources.size(); ++i) {
          sizes.push_back(of_kind.size_of(i, *sources[i], max_source));
          size_sum.tokens += sizes.back().tokens;
          size_sum.cost += sizes.back().cost;
        }
      },
      kind);
}

}  // namespace fovea::app
