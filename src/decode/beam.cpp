#include "decode/beam.h"

#include <algorithm>
#include <cmath>

#include "decode/options.h"

namespace fovea {

Beam::Beam(const SearchOptions& options, int64_t row, int64_t source_length)
    : options_(options), row_(row), longest_(longest_target(options, source_length, row)) {
  if (!options.begins.empty()) begin_ = &options.begins[static_cast<size_t>(row)];
  const auto beams = static_cast<size_t>(beams_of(options));
  constexpr int64_t kUsual = 32;  // words of a sentence
  nodes_.reserve(beams * static_cast<size_t>(std::min(longest_, kUsual) + 2));
  nodes_.push_back({kNone, kBegin, 0, 0.0f, 0.0, 0});
  // At first all beams would say the same: one is enough. Samples differ by their random numbers.
  live_.assign(beams, options.sample ? 0 : kNone);
  live_[0] = 0;
  if (options.capture_weights || options.coverage_penalty > 0) looks_.emplace(source_length, beams_of(options));
}

const std::vector<int32_t>& Beam::banned(int64_t k) {
  banned_.assign({kPad, kBegin});
  if (steps_ < options_.min_length) banned_.push_back(kEnd);
  const int64_t n = options_.no_repeat_ngram;
  if (n == 0 || steps_ < n) return banned_;
  std::vector<int32_t> words;
  for (const int32_t i : way_to(live_[static_cast<size_t>(k)])) words.push_back(nodes_[static_cast<size_t>(i)].word);
  const auto last = words.end() - (n - 1);  // what came after these words before must not come again
  for (auto at = words.begin(); at + (n - 1) != words.end(); ++at) {
    if (std::equal(last, words.end(), at)) banned_.push_back(*(at + (n - 1)));
  }
  return banned_;
}

void Beam::offer(int64_t k, int32_t word, float log_prob) {
  if (std::isinf(log_prob)) return;
  candidates_.push_back({live_[static_cast<size_t>(k)], word, static_cast<int32_t>(k), log_prob,
                         node(k).total + static_cast<double>(log_prob), node(k).depth + 1});
}

void Beam::note(int64_t k, std::vector<NextWord> likeliest) {
  likeliest_.resize(static_cast<size_t>(steps_ + 1) * live_.size());
  likeliest_[static_cast<size_t>(steps_) * live_.size() + static_cast<size_t>(k)] = std::move(likeliest);
}

void Beam::advance() {
  before_ = live_;
  ++steps_;
  std::fill(live_.begin(), live_.end(), kNone);
  if (options_.sample) {
    take_drawn();
  } else {
    take_best();
  }
  candidates_.clear();
  const bool none = std::all_of(live_.begin(), live_.end(), [](int32_t node) { return node == kNone; });
  if (steps_ == longest_) {
    for (const int32_t node : live_) set_aside(node, false);
  } else if (none && ended_.empty()) {
    for (const int32_t node : before_) set_aside(node, false);  // every word was forbidden
  }
  done_ = none || steps_ == longest_ || decided();
}

void Beam::stop() {
  if (done_) return;
  for (const int32_t node : live_) set_aside(node, false);
  done_ = true;
}

int32_t Beam::add(const Node& candidate) {
  nodes_.push_back(candidate);
  return static_cast<int32_t>(nodes_.size() - 1);
}

void Beam::take_drawn() {
  for (const Node& drawn : candidates_) {
    const int32_t added = add(drawn);
    if (drawn.word == kEnd) {
      set_aside(added, true);
    } else {
      live_[static_cast<size_t>(drawn.beam)] = added;
    }
  }
}

void Beam::take_best() {
  // Of equal ones the first of the lower beam, so that the order depends on nothing else. A few are sorted where they
  // are: stable_sort would ask for memory.
  constexpr size_t kFew = 32;
  const auto better = [](const Node& a, const Node& b) { return a.total > b.total; };
  if (candidates_.size() > kFew) {
    std::stable_sort(candidates_.begin(), candidates_.end(), better);
  } else {
    for (auto next = candidates_.begin(); next != candidates_.end(); ++next) {
      std::rotate(std::upper_bound(candidates_.begin(), next, *next, better), next, next + 1);
    }
  }
  size_t next = 0;
  for (const Node& candidate : candidates_) {
    if (next == live_.size()) break;
    if (candidate.word == kEnd) {
      set_aside(add(candidate), true);
    } else {
      live_[next++] = add(candidate);
    }
  }
}

void Beam::set_aside(int32_t node, bool ended) {
  if (node == kNone) return;
  const std::vector<int32_t> beams = beams_along(node);
  double score = nodes_[static_cast<size_t>(node)].total / length_penalty(options_, std::ssize(beams));
  if (options_.coverage_penalty > 0) {
    constexpr double kHardly = 1e-6;  // what was not looked at at all must not cost everything
    const std::vector<double> coverage = looks_->coverage(beams);
    check(!coverage.empty(),
          "coverage_penalty: expected a model that attends to its source, got one without attention");
    for (const double c : coverage) score += options_.coverage_penalty * std::log(std::clamp(c, kHardly, 1.0));
  }
  ended_.push_back({node, score, ended});
}

bool Beam::decided() const {
  if (options_.sample || std::ssize(ended_) < options_.nbest) return false;
  if (ended_.size() >= live_.size()) return true;
  std::vector<double> scores;
  for (const Ended& e : ended_) scores.push_back(e.score);
  const auto last = scores.begin() + (options_.nbest - 1);
  std::nth_element(scores.begin(), last, scores.end(), std::greater<>());
  return node(0).total / length_penalty(options_, longest_) <= *last;
}

std::vector<int32_t> Beam::way_to(int32_t node) const {
  std::vector<int32_t> way;
  for (; node > 0; node = nodes_[static_cast<size_t>(node)].parent) way.push_back(node);
  std::reverse(way.begin(), way.end());
  return way;
}

std::vector<int32_t> Beam::beams_along(int32_t node) const {
  std::vector<int32_t> beams;
  for (const int32_t i : way_to(node)) beams.push_back(nodes_[static_cast<size_t>(i)].beam);
  return beams;
}

std::vector<Beam::Ended> Beam::best_ended() const {
  std::vector<Ended> order = ended_;
  std::stable_sort(order.begin(), order.end(),
                   [](const Ended& a, const Ended& b) { return a.ended != b.ended ? a.ended : a.score > b.score; });
  order.resize(std::min(order.size(), static_cast<size_t>(options_.nbest)));
  return order;
}

std::vector<SearchStep> Beam::new_steps() {
  // Where hypotheses were set aside at the limit of their length, the best is among those.
  const auto first = std::find_if(live_.begin(), live_.end(), [](int32_t node) { return node != kNone; });
  const int32_t last = done_ || first == live_.end() ? best_ended().front().node : *first;
  // Back to where the ways part, so that a step costs what is new of it.
  const auto depth = static_cast<size_t>(nodes_[static_cast<size_t>(last)].depth);
  told_.resize(depth, kNone);
  size_t same = depth;
  for (int32_t at = last; same > 0 && told_[same - 1] != at; --same) {
    told_[same - 1] = at;
    at = nodes_[static_cast<size_t>(at)].parent;
  }
  std::vector<SearchStep> steps;
  for (size_t t = same; t < depth; ++t) {
    const Node& node = nodes_[static_cast<size_t>(told_[t])];
    SearchStep& step =
        steps.emplace_back(SearchStep{.step = static_cast<int64_t>(t), .word = node.word, .log_prob = node.log_prob});
    if (options_.alternatives > 0) step.alternatives = likeliest_at(t, node.beam);
    if (options_.capture_weights) step.weights = looks_->row(step.step, node.beam);
  }
  return steps;
}

SearchTree Beam::tree() const {
  SearchTree tree;
  for (const Node& node : nodes_) {
    tree.nodes.push_back({node.parent, node.word, node.log_prob, node.total, node.depth, false, node.word == kEnd});
  }
  tree.nodes[0].kept = true;
  for (const Ended& e : best_ended()) {
    for (const int32_t i : way_to(e.node)) tree.nodes[static_cast<size_t>(i)].kept = true;
  }
  return tree;
}

std::vector<Hypothesis> Beam::hypotheses() const {
  std::vector<Hypothesis> best;
  for (const Ended& e : best_ended()) {
    Hypothesis& h = best.emplace_back();
    for (const int32_t i : way_to(e.node)) {
      const Node& node = nodes_[static_cast<size_t>(i)];
      if (node.word != kEnd) h.words.push_back(node.word);
      h.log_probs.push_back(node.log_prob);
    }
    h.log_probability = nodes_[static_cast<size_t>(e.node)].total;
    h.score = e.score;
    h.ended = e.ended;
    const std::vector<int32_t> beams = beams_along(e.node);
    if (options_.capture_weights) h.weights = looks_->along(beams);
    for (size_t t = 0; options_.alternatives > 0 && t < beams.size(); ++t) {
      h.alternatives.push_back(likeliest_at(t, beams[t]));
    }
  }
  return best;
}

}  // namespace fovea
