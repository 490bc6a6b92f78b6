#include "fovea/serve/job.h"

#include <fmt/format.h>

#include <algorithm>

#include "decode/options.h"

namespace fovea::app {

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

// A translation is rarely twice as long as its source. A search that runs away goes on for longer, until the deadline.
void Job::measure(const Translator& translator) {
  const LoadedModel& model = translator.model();
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t read = std::min(std::ssize(model.source->encode(sources[i])), translator.most_source()) + 1;
    int64_t written = 0;
    if (targets.empty()) {
      const int64_t most = longest_target(search, read, static_cast<int64_t>(i));
      // Samples may be as long as they are allowed to be: at a high temperature the end mark is rare.
      const int64_t usual = search.sample ? most : std::max(search.min_length, 2 * read + 10);
      written = beams_of(search) * std::min(most, usual);
    } else {
      written = std::ssize(model.target->encode(targets[i])) + 1;
    }
    source_tokens.push_back(read + (targets.empty() ? 0 : written));
    costs.push_back(written);
    tokens += source_tokens.back();
    cost += written;
  }
}

void Job::set_group() {
  if (!targets.empty()) {
    group = fmt::format("score {} {}", score.capture_weights, score.alternatives);
    return;
  }
  group = fmt::format("translate {} {}", search.capture_weights, search.alternatives);
  const Fields fields = fields_of(search);
  for (const Field& field : fields.list()) group += " " + field.text();
}

}  // namespace fovea::app
