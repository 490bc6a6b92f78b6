#include "decode/attention_history.h"

#include <algorithm>

namespace fovea {

void copy_to_host(std::span<const AttentionTrace> traces, int64_t model, std::vector<HostWeights>& to) {
  for (const AttentionTrace& t : traces) {
    const Tensor f32 = cast(t.weights, DType::kF32).value();
    HostWeights& host = to.emplace_back(HostWeights{t.kind, t.layer, model, f32.shape(), to_host<float>(f32), {}, {}});
    const auto f32_host = [](const Var& x) { return to_host<float>(cast(x, DType::kF32).value()); };
    if (t.scores) host.scores = f32_host(t.scores);
    if (t.sentinel) host.sentinel = f32_host(t.sentinel);
    if (t.sentinel_scores) host.sentinel_scores = f32_host(t.sentinel_scores);
    if (!t.center) continue;
    const std::vector<float> centers = f32_host(t.center);
    const int64_t steps = t.center.dim(0), rows = t.center.dim(1) * t.center.dim(2);  // [T,B,H] -> [B,H,T]
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t step = 0; step < steps; ++step)
        host.centers.push_back(centers[static_cast<size_t>(step * rows + i)]);
    }
  }
}

HypothesisWeights slice_sentence(const HostWeights& weights, int64_t sentence, int64_t rows, int64_t columns) {
  const int64_t heads = weights.shape[1], steps = weights.shape[2], width = weights.shape[3];
  HypothesisWeights result{weights.kind, weights.layer, heads, rows, columns, {}, weights.model, {}};
  result.weights.reserve(static_cast<size_t>(heads * rows * columns));
  for (int64_t h = 0; h < heads; ++h) {
    const int64_t first = (sentence * heads + h) * steps;
    for (int64_t t = 0; t < rows; ++t) {
      const float* row = weights.weights.data() + (first + t) * width;
      result.weights.insert(result.weights.end(), row, row + columns);
      if (weights.scores.empty()) continue;
      row = weights.scores.data() + (first + t) * width;
      result.scores.insert(result.scores.end(), row, row + columns);
    }
    const auto append = [&](const std::vector<float>& from, std::vector<float>& to) {  // [B,H,T]
      if (!from.empty()) to.insert(to.end(), from.begin() + first, from.begin() + first + rows);
    };
    append(weights.centers, result.centers);
    append(weights.sentinel, result.sentinel);
    append(weights.sentinel_scores, result.sentinel_scores);
  }
  return result;
}

void AttentionHistory::append_step(std::span<const HostWeights> step, int64_t sentence, int64_t batch) {
  const bool first = steps_.empty();
  std::vector<float>& values = steps_.emplace_back();
  for (const HostWeights& w : step) {
    if (w.kind == AttentionKind::kEncoderSelf) {
      encoder_.push_back(slice_sentence(w, sentence, source_length_, source_length_));
      continue;
    }
    const int64_t heads = w.shape[1], width = w.shape[3];
    const Layout layout{w.kind, w.layer, w.model, heads, !w.scores.empty(), !w.centers.empty(), !w.sentinel.empty()};
    if (first) layouts_.push_back(layout);
    const int64_t count = columns(layout, steps_.size() - 1);
    for (int64_t k = 0; k < beams_; ++k) {
      for (int64_t h = 0; h < heads; ++h) {
        // In attention to the source the beams are queries of one sentence, [B,H,K,S]; in decoder self-attention each
        // beam is a sentence of its own, [K*B,H,1,t+1].
        const int64_t row =
            of_source(w.kind) ? (sentence * heads + h) * beams_ + k : (k * batch + sentence) * heads + h;
        const float* from = w.weights.data() + row * width;
        values.insert(values.end(), from, from + count);
        if (layout.has_scores) {
          from = w.scores.data() + row * width;
          values.insert(values.end(), from, from + count);
        }
        if (layout.has_center) values.push_back(w.centers[static_cast<size_t>(row)]);
        if (!layout.has_sentinel) continue;
        values.push_back(w.sentinel[static_cast<size_t>(row)]);
        if (layout.has_scores) values.push_back(w.sentinel_scores[static_cast<size_t>(row)]);
      }
    }
  }
}

template <class Visit> void AttentionHistory::each(size_t step, int64_t beam, Visit&& visit) const {
  const float* at = steps_[step].data();
  for (const Layout& layout : layouts_) {
    const int64_t one = layout.heads * stride(layout, step);
    visit(layout, at + beam * one);
    at += beams_ * one;
  }
}

void AttentionHistory::copy_row(const Layout& layout, const float* from, int64_t count, HypothesisWeights& weights,
                                int64_t to) {
  const auto row = static_cast<size_t>(to);
  std::copy_n(from, count, weights.weights.data() + to * weights.columns);
  from += count;
  if (layout.has_scores) {
    std::copy_n(from, count, weights.scores.data() + to * weights.columns);
    from += count;
  }
  if (layout.has_center) weights.centers[row] = *from++;
  if (!layout.has_sentinel) return;
  weights.sentinel[row] = *from++;
  if (layout.has_scores) weights.sentinel_scores[row] = *from;
}

HypothesisWeights AttentionHistory::empty_rows(const Layout& layout, int64_t rows, int64_t width) {
  const auto all = static_cast<size_t>(layout.heads * rows), count = all * static_cast<size_t>(width);
  HypothesisWeights weights{
      layout.kind, layout.layer, layout.heads, rows, width, std::vector<float>(count), layout.model, {}};
  if (layout.has_scores) weights.scores.resize(count);
  if (layout.has_center) weights.centers.resize(all);
  if (layout.has_sentinel) weights.sentinel.resize(all);
  if (layout.has_sentinel && layout.has_scores) weights.sentinel_scores.resize(all);
  return weights;
}

std::vector<HypothesisWeights> AttentionHistory::along_path(std::span<const int32_t> beams) const {
  const auto rows = static_cast<int64_t>(beams.size());
  std::vector<HypothesisWeights> all = encoder_;
  const size_t before = all.size();
  for (const Layout& layout : layouts_) {
    all.push_back(empty_rows(layout, rows, of_source(layout.kind) ? source_length_ : rows));
  }
  for (int64_t t = 0; t < rows; ++t) {
    HypothesisWeights* to = all.data() + before;
    each(static_cast<size_t>(t), beams[static_cast<size_t>(t)], [&](const Layout& layout, const float* from) {
      const int64_t count = columns(layout, static_cast<size_t>(t));
      for (int64_t h = 0; h < layout.heads; ++h, from += stride(layout, static_cast<size_t>(t))) {
        copy_row(layout, from, count, *to, h * rows + t);
      }
      ++to;
    });
  }
  const auto earlier = [](const HypothesisWeights& a, const HypothesisWeights& b) { return a.model < b.model; };
  std::stable_sort(all.begin(), all.end(), earlier);
  return all;
}

std::vector<HypothesisWeights> AttentionHistory::at_step(int64_t step, int32_t beam) const {
  std::vector<HypothesisWeights> all;
  each(static_cast<size_t>(step), beam, [&](const Layout& layout, const float* from) {
    const int64_t count = columns(layout, static_cast<size_t>(step));
    HypothesisWeights& to = all.emplace_back(empty_rows(layout, 1, count));
    to.first_row = step;
    for (int64_t h = 0; h < layout.heads; ++h, from += stride(layout, static_cast<size_t>(step))) {
      copy_row(layout, from, count, to, h);
    }
  });
  return all;
}

std::vector<double> AttentionHistory::coverage(std::span<const int32_t> beams) const {
  double heads = 0;
  for (const Layout& layout : layouts_) {
    if (layout.kind == AttentionKind::kCross) heads += static_cast<double>(layout.heads);
  }
  if (heads == 0) return {};
  std::vector<double> sum(static_cast<size_t>(source_length_));
  for (size_t t = 0; t < beams.size(); ++t) {
    each(t, beams[t], [&](const Layout& layout, const float* from) {
      if (layout.kind != AttentionKind::kCross) return;
      for (int64_t h = 0; h < layout.heads; ++h) {
        for (size_t s = 0; s < sum.size(); ++s) sum[s] += static_cast<double>(from[s]) / heads;
        from += stride(layout, t);
      }
    });
  }
  return sum;
}

}  // namespace fovea
