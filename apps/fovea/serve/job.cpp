#include "fovea/serve/job.h"

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

bool go_together(const Job& a, const Job& b) {
  if (a.alone || b.alone || a.targets.empty() != b.targets.empty()) return false;
  if (!a.targets.empty()) {
    return a.score.keep_weights == b.score.keep_weights && a.score.alternatives == b.score.alternatives;
  }
  SearchOptions x = a.search, y = b.search;
  if (x.alternatives != y.alternatives || x.keep_weights != y.keep_weights) return false;
  const Fields fields = fields_of(x), others = fields_of(y);
  for (size_t i = 0; i < fields.list().size(); ++i) {
    if (fields.list()[i].value() != others.list()[i].value()) return false;
  }
  return true;
}

}  // namespace fovea::app
