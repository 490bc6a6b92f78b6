#include "decode/beam.h"

#include <algorithm>
#include <cmath>

#include "decode/options.h"

namespace fovea {

Beam::Beam(const SearchOptions& options, int64_t row, int64_t source_length)
    : options_(options), row_(row), max_length_(max_target_length(options, source_length, row)) {
  if (!options.prefixes.empty()) prefix_ = &options.prefixes[static_cast<size_t>(row)];
  const auto beams = static_cast<size_t>(beams_of(options));
  constexpr int64_t kUsual = 32;  // tokens of a sentence
  nodes_.reserve(beams * static_cast<size_t>(std::min(max_length_, kUsual) + 2));
  nodes_.push_back({kNone, kBegin, 0, 0.0f, 0.0, 0});
  // In the first step all beams would have the same candidates, so one is live. Samples differ by their random numbers.
  live_.assign(beams, options.sample ? 0 : kNone);
  live_[0] = 0;
  if (options.capture_weights || options.coverage_penalty > 0) history_.emplace(source_length, beams_of(options));
}

const std::vector<int32_t>& Beam::banned(int64_t k) {
  banned_.assign({kPad, kBegin});
  if (!options_.allow_unknown) banned_.push_back(kUnknown);
  if (steps_ < options_.min_length) banned_.push_back(kEnd);
  const int64_t n = options_.no_repeat_ngram;
  if (n == 0 || steps_ < n) return banned_;
  std::vector<int32_t> ids;
  for (const int32_t i : path_to(live_[static_cast<size_t>(k)])) ids.push_back(nodes_[static_cast<size_t>(i)].id);
  const auto last = ids.end() - (n - 1);  // the n-1 last tokens: a token that followed them before is banned
  for (auto at = ids.begin(); at + (n - 1) != ids.end(); ++at) {
    if (std::equal(last, ids.end(), at)) banned_.push_back(*(at + (n - 1)));
  }
  return banned_;
}

void Beam::add_candidate(int64_t k, int32_t id, float log_prob) {
  if (std::isinf(log_prob)) return;
  candidates_.push_back({live_[static_cast<size_t>(k)], id, static_cast<int32_t>(k), log_prob,
                         node(k).total + static_cast<double>(log_prob), node(k).depth + 1});
}

void Beam::set_alternatives(int64_t k, std::vector<NextToken> alternatives) {
  alternatives_.resize(static_cast<size_t>(steps_ + 1) * live_.size());
  alternatives_[static_cast<size_t>(steps_) * live_.size() + static_cast<size_t>(k)] = std::move(alternatives);
}

void Beam::advance() {
  previous_live_ = live_;
  ++steps_;
  std::fill(live_.begin(), live_.end(), kNone);
  if (options_.sample) {
    select_samples();
  } else {
    select_best();
  }
  candidates_.clear();
  const bool none = std::all_of(live_.begin(), live_.end(), [](int32_t node) { return node == kNone; });
  if (steps_ == max_length_) {
    for (const int32_t node : live_) finish(node, false);
  } else if (none && finished_.empty()) {
    for (const int32_t node : previous_live_) finish(node, false);  // every token was banned
  }
  done_ = none || steps_ == max_length_ || can_stop();
}

void Beam::stop() {
  if (done_) return;
  for (const int32_t node : live_) finish(node, false);
  done_ = true;
}

int32_t Beam::add(const Node& candidate) {
  nodes_.push_back(candidate);
  return static_cast<int32_t>(nodes_.size() - 1);
}

void Beam::select_samples() {
  for (const Node& sampled : candidates_) {
    const int32_t added = add(sampled);
    if (sampled.id == kEnd) {
      finish(added, true);
    } else {
      live_[static_cast<size_t>(sampled.beam)] = added;
    }
  }
}

void Beam::select_best() {
  // The sort is stable: among equal candidates, the first of the lowest beam wins. A few candidates are sorted in
  // place, because stable_sort allocates memory.
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
    if (candidate.id == kEnd) {
      finish(add(candidate), true);
    } else {
      live_[next++] = add(candidate);
    }
  }
}

void Beam::finish(int32_t node, bool has_end) {
  if (node == kNone) return;
  const std::vector<int32_t> beams = beams_on_path(node);
  double score = nodes_[static_cast<size_t>(node)].total / length_penalty(options_, std::ssize(beams));
  if (options_.coverage_penalty > 0) {
    constexpr double kLeast = 1e-6;  // bounds the penalty of a source token without any attention
    const std::vector<double> coverage = history_->coverage(beams);
    check(!coverage.empty(),
          "coverage_penalty: expected a model that attends to its source, got one without attention");
    for (const double c : coverage) score += options_.coverage_penalty * std::log(std::clamp(c, kLeast, 1.0));
  }
  finished_.push_back({node, score, has_end});
}

bool Beam::can_stop() const {
  if (options_.sample || std::ssize(finished_) < options_.nbest) return false;
  if (finished_.size() >= live_.size()) return true;
  std::vector<double> scores;
  for (const Finished& e : finished_) scores.push_back(e.score);
  const auto last = scores.begin() + (options_.nbest - 1);
  std::nth_element(scores.begin(), last, scores.end(), std::greater<>());
  return node(0).total / length_penalty(options_, max_length_) <= *last;
}

std::vector<int32_t> Beam::path_to(int32_t node) const {
  std::vector<int32_t> path;
  for (; node > 0; node = nodes_[static_cast<size_t>(node)].parent) path.push_back(node);
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<int32_t> Beam::beams_on_path(int32_t node) const {
  std::vector<int32_t> beams;
  for (const int32_t i : path_to(node)) beams.push_back(nodes_[static_cast<size_t>(i)].beam);
  return beams;
}

std::vector<Beam::Finished> Beam::best_finished() const {
  std::vector<Finished> order = finished_;
  std::stable_sort(order.begin(), order.end(), [](const Finished& a, const Finished& b) {
    return a.has_end != b.has_end ? a.has_end : a.score > b.score;
  });
  order.resize(std::min(order.size(), static_cast<size_t>(options_.nbest)));
  return order;
}

std::vector<SearchStep> Beam::new_steps() {
  // Without a live hypothesis, the best of those ended by the maximum length is reported.
  const auto first = std::find_if(live_.begin(), live_.end(), [](int32_t node) { return node != kNone; });
  const int32_t last = done_ || first == live_.end() ? best_finished().front().node : *first;
  // From the last node back to the first that was reported before: a call costs only what is new.
  const auto depth = static_cast<size_t>(nodes_[static_cast<size_t>(last)].depth);
  reported_.resize(depth, kNone);
  size_t same = depth;
  for (int32_t at = last; same > 0 && reported_[same - 1] != at; --same) {
    reported_[same - 1] = at;
    at = nodes_[static_cast<size_t>(at)].parent;
  }
  std::vector<SearchStep> steps;
  for (size_t t = same; t < depth; ++t) {
    const Node& node = nodes_[static_cast<size_t>(reported_[t])];
    SearchStep& step =
        steps.emplace_back(SearchStep{.step = static_cast<int64_t>(t), .id = node.id, .log_prob = node.log_prob});
    if (options_.alternatives > 0) step.alternatives = alternatives_at(t, node.beam);
    if (options_.capture_weights) step.weights = history_->at_step(step.step, node.beam);
  }
  return steps;
}

SearchTree Beam::tree() const {
  SearchTree tree;
  for (const Node& node : nodes_) {
    tree.nodes.push_back({node.parent, node.id, node.log_prob, node.total, node.depth, false, node.id == kEnd});
  }
  tree.nodes[0].in_result = true;
  for (const Finished& e : best_finished()) {
    for (const int32_t i : path_to(e.node)) tree.nodes[static_cast<size_t>(i)].in_result = true;
  }
  return tree;
}

std::vector<Hypothesis> Beam::hypotheses() const {
  std::vector<Hypothesis> best;
  for (const Finished& e : best_finished()) {
    Hypothesis& h = best.emplace_back();
    for (const int32_t i : path_to(e.node)) {
      const Node& node = nodes_[static_cast<size_t>(i)];
      if (node.id != kEnd) h.ids.push_back(node.id);
      h.log_probs.push_back(node.log_prob);
    }
    h.log_probability = nodes_[static_cast<size_t>(e.node)].total;
    h.score = e.score;
    h.finished = e.has_end;
    const std::vector<int32_t> beams = beams_on_path(e.node);
    if (options_.capture_weights) h.weights = history_->along_path(beams);
    for (size_t t = 0; options_.alternatives > 0 && t < beams.size(); ++t) {
      h.alternatives.push_back(alternatives_at(t, beams[t]));
    }
  }
  return best;
}

}  // namespace fovea
