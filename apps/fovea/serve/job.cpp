#include "fovea/serve/job.h"

#include <fmt/format.h>

namespace fovea::app {

bool Job::wait_done(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [&] { return done_; });
}

std::optional<SearchStep> Job::wait_step(std::chrono::milliseconds most, bool& done) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return done_ || !steps_.empty(); });
  done = done_ && steps_.empty();
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
  changed_.notify_all();
}

void Job::finish() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
}

void Job::set_group() {
  if (!targets.empty()) {
    group = fmt::format("score {} {}", score.keep_weights, score.alternatives);
    return;
  }
  group = fmt::format("translate {} {}", search.keep_weights, search.alternatives);
  const Fields fields = fields_of(search);
  for (const Field& field : fields.list()) group += " " + field.text();
}

}  // namespace fovea::app
