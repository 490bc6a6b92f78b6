#include "attention/naive_attention.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace fovea::testing {

namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }
double length(const Vector& a) { return std::sqrt(dot(a, a)); }

// A row of the last axis, at these indices of the others.
template <class... Index> Vector row(const Array& x, Index... index) {
  Vector y;
  for (int64_t n = 0; n < x.dim(-1); ++n) y.push_back(x(index..., n));
  return y;
}

// Su et al. 2021, section 3.2: each pair of components (i, i + d/2) is rotated by position * 10000^(-2i/d).
Vector rotated(const Vector& x, int64_t position) {
  Vector y(x.size());
  const size_t half = x.size() / 2;
  for (size_t i = 0; i < half; ++i) {
    const double angle =
        static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
    y[i] = x[i] * std::cos(angle) - x[i + half] * std::sin(angle);
    y[i + half] = x[i] * std::sin(angle) + x[i + half] * std::cos(angle);
  }
  return y;
}

// Of the scores of the keys that are visible.
Vector softmax(const Vector& scores) {
  Vector weights;
  for (const double score : scores) weights.push_back(std::exp(score));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= total;
  return weights;
}

// Martins & Astudillo 2016: weight s is max(0, e_s - tau), where tau makes them sum to 1. Found by bisection.
Vector sparsemax(const Vector& scores) {
  if (scores.empty()) return {};
  double low = *std::min_element(scores.begin(), scores.end()) - 1,
         high = *std::max_element(scores.begin(), scores.end());
  for (int i = 0; i < 200; ++i) {
    const double tau = (low + high) / 2;
    double total = 0;
    for (const double score : scores) total += std::max(0.0, score - tau);
    (total > 1 ? low : high) = tau;
  }
  Vector weights;
  for (const double score : scores) weights.push_back(std::max(0.0, score - low));
  return weights;
}

// Xu et al. 2015 as it decodes: all weight is on the key with the largest score.
Vector hardmax(const Vector& scores) {
  Vector weights(scores.size());
  if (!scores.empty())
    weights[static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin())] = 1;
  return weights;
}

// Computes one problem. Vectors of all heads are as long as the depth; `head` takes the part of one head.
class Naive {
 public:
  explicit Naive(const NaiveProblem& problem) : p_(problem), c_(problem.config) {
    for (const Parameter& p : problem.parameters.list()) parameters_.emplace(p.name(), Array(p.value()));
  }

  NaiveResult operator()() const {
    const int64_t queries = p_.queries.dim(0), batch = p_.queries.dim(1), keys = p_.states.dim(0);
    const Shape cells{batch, c_.heads, queries, keys};
    NaiveResult result{.context = {},
                       .weights = Array(cells),
                       .scores = Array(cells),
                       .visible = Array(cells),
                       .center = c_.scope == "local-p" ? Array(Shape{queries, batch, c_.heads}) : Array()};
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t t = 0; t < queries; ++t) {
        const Vector context = attend(b, t, result);
        if (result.context.empty()) result.context = Array(Shape{queries, batch, std::ssize(context)});
        for (int64_t i = 0; i < std::ssize(context); ++i) result.context(t, b, i) = context[static_cast<size_t>(i)];
      }
    }
    return result;
  }

 private:
  const Array& parameter(const std::string& name) const { return parameters_.at(p_.name + name); }
  // W x + b, or W x where there is no bias; W is [out,in].
  Vector linear(const std::string& layer, const Vector& x) const {
    const Array& weight = parameter(layer + ".weight");
    const auto bias = parameters_.find(p_.name + layer + ".bias");
    Vector y;
    for (int64_t i = 0; i < weight.dim(0); ++i) {
      double sum = bias == parameters_.end() ? 0.0 : bias->second(i);
      for (int64_t j = 0; j < weight.dim(1); ++j) sum += weight(i, j) * x[static_cast<size_t>(j)];
      y.push_back(sum);
    }
    return y;
  }
  // With several heads queries, keys and values are projected (Vaswani et al. 2017, section 3.2.2).
  Vector projected(const std::string& layer, const Vector& x) const { return c_.heads > 1 ? linear(layer, x) : x; }

  Vector head(const Vector& x, int64_t h) const {
    const int64_t depth = std::ssize(x) / c_.heads;
    return {x.begin() + h * depth, x.begin() + (h + 1) * depth};
  }

  int64_t position_of(int64_t t) const { return p_.position + t * p_.stride; }

  bool visible(int64_t b, int64_t t, int64_t s) const {
    const int64_t length = p_.lengths[static_cast<size_t>(b)], position = position_of(t);
    if (s >= length) return false;
    if (p_.causal && s > position) return false;
    // Luong et al. 2015, section 3.2, local-m: p_t = t. Past the end of the source the window stays at the end.
    return c_.scope != "local-m" || std::abs(s - std::min(position, length - 1)) <= c_.window;
  }

  // How well key s answers the query at a position, in head h.
  double score(const Vector& query, const Vector& key, int64_t h, int64_t s, int64_t position) const {
    Vector q = head(query, h), k = head(key, h);
    if (c_.relative == "rotary") q = rotated(q, position), k = rotated(k, s);
    if (c_.score == "dot") return dot(q, k);
    if (c_.score == "scaled-dot") return dot(q, k) / std::sqrt(static_cast<double>(q.size()));
    if (c_.score == "general") return dot(q, head(linear(".score.general", key), h));
    if (c_.score == "additive" || c_.score == "concat") {
      const Vector from_query = head(linear(".score.query", query), h), from_key = head(linear(".score.keys", key), h);
      const Vector v = head(parameter(".score.v").cells(), h);
      double sum = 0;
      for (size_t i = 0; i < v.size(); ++i) sum += v[i] * std::tanh(from_query[i] + from_key[i]);
      return sum;
    }
    if (c_.score == "cosine") {
      const double sharpness = std::exp(parameter(".score.sharpness")(0));
      return sharpness * dot(q, k) / (length(q) * length(k));
    }
    if (c_.score == "location") {
      const Array& rows = parameter(".score.location.table");
      return dot(q, head(row(rows, s), h));
    }
    fail("naive attention: expected a score with an equation, got {}", c_.score);
  }

  // What positions add to a score.
  double relative_score(const Vector& query, int64_t h, int64_t s, int64_t position) const {
    if (c_.relative == "none" || c_.relative == "rotary") return 0;
    if (c_.relative == "shaw") {
      // Shaw et al. 2018, equation 4, with vectors that have absorbed the factor of a scaled dot product.
      const Array& vectors = parameter(".distances");
      const int64_t distance = std::clamp(s - position, -c_.window, c_.window);
      return dot(head(query, h), row(vectors, distance + c_.window));
    }
    if (c_.relative == "alibi") {
      // Press et al. 2022, section 3: the slopes are a geometric sequence from 2^(-8/H) on.
      const double slope = std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(c_.heads));
      return -slope * static_cast<double>(std::abs(s - position));
    }
    fail("naive attention: expected relative positions with an equation, got {}", c_.relative);
  }

  Vector select(const Vector& scores) const {
    if (c_.selection == "soft") return softmax(scores);
    if (c_.selection == "sparse") return sparsemax(scores);
    if (c_.selection == "hard") return hardmax(scores);
    fail("naive attention: expected a selection with an equation, got {}", c_.selection);
  }

  // Luong et al. 2015, equations 9 and 10: weights times a Gaussian around p = S sigmoid(v . tanh(W q)), where S is
  // the last position that the query may see; Fovea normalises the product. With rotary positions W takes the rotated
  // query.
  void narrow(const Vector& query, int64_t b, int64_t t, int64_t h, NaiveResult& result) const {
    Vector rotated_query;
    for (int64_t i = 0; i < c_.heads; ++i) {
      const Vector part = c_.relative == "rotary" ? rotated(head(query, i), position_of(t)) : head(query, i);
      rotated_query.insert(rotated_query.end(), part.begin(), part.end());
    }
    Vector hidden = linear(".center.hidden", rotated_query);
    for (double& x : hidden) x = std::tanh(x);
    const double last = static_cast<double>(p_.causal ? position_of(t) : p_.lengths[static_cast<size_t>(b)] - 1);
    const double center = last / (1 + std::exp(-linear(".center.v", hidden)[static_cast<size_t>(h)]));
    const double window = static_cast<double>(c_.window), sigma = window / 2;
    double total = 0;
    for (int64_t s = 0; s < result.weights.dim(3); ++s) {
      const double distance = static_cast<double>(s) - center;
      double& weight = result.weights(b, h, t, s);
      weight *= std::abs(distance) <= window ? std::exp(-distance * distance / (2 * sigma * sigma)) : 0.0;
      total += weight;
    }
    for (int64_t s = 0; s < result.weights.dim(3) && total > 0; ++s) result.weights(b, h, t, s) /= total;
    result.center(t, b, h) = center;
  }

  // Weights that are given instead of those that were computed.
  void apply(const AttentionEdit& edit, int64_t b, int64_t t, int64_t h, NaiveResult& result) const {
    if (edit.head != AttentionEdit::kAll && edit.head != h) return;
    if (edit.row != AttentionEdit::kAll && edit.row != position_of(t)) return;
    for (int64_t s = 0; s < result.weights.dim(3); ++s) {
      const bool given = !edit.off && s < std::ssize(edit.weights);
      result.weights(b, h, t, s) = given ? static_cast<double>(edit.weights[static_cast<size_t>(s)]) : 0.0;
    }
  }

  // Fills the cells of one query in `result` and returns its context.
  Vector attend(int64_t b, int64_t t, NaiveResult& result) const {
    const Vector query = projected(".query", row(p_.queries, t, b));
    std::vector<Vector> keys, values;
    for (int64_t s = 0; s < p_.states.dim(0); ++s) {
      keys.push_back(projected(".keys", row(p_.states, s, b)));
      values.push_back(projected(".values", row(p_.states, s, b)));
    }
    Vector context;
    for (int64_t h = 0; h < c_.heads; ++h) {
      Vector scores;
      for (int64_t s = 0; s < p_.states.dim(0); ++s) {
        const Vector& key = keys[static_cast<size_t>(s)];
        double& cell = result.scores(b, h, t, s);
        cell = score(query, key, h, s, position_of(t)) + relative_score(query, h, s, position_of(t));
        if (!p_.coverage.empty()) {
          // See et al. 2017, equation 11, with one weight for the sum of the earlier attention weights.
          cell += parameter(".coverage")(0) * p_.coverage(b, h, t, s);
        }
        result.visible(b, h, t, s) = visible(b, t, s) ? 1 : 0;
        if (visible(b, t, s)) scores.push_back(cell);
      }
      const Vector weights = select(scores);
      auto weight = weights.begin();
      for (int64_t s = 0; s < p_.states.dim(0); ++s) {
        if (visible(b, t, s)) result.weights(b, h, t, s) = *weight++;
      }
      if (c_.scope == "local-p") narrow(query, b, t, h, result);
      for (const AttentionEdit& edit : p_.edits) apply(edit, b, t, h, result);
      Vector sum;
      for (int64_t s = 0; s < p_.states.dim(0); ++s) {
        const Vector value = head(values[static_cast<size_t>(s)], h);
        sum.resize(value.size());
        for (size_t i = 0; i < value.size(); ++i) sum[i] += result.weights(b, h, t, s) * value[i];
      }
      context.insert(context.end(), sum.begin(), sum.end());
    }
    return projected(".out", context);
  }

  const NaiveProblem& p_;
  const AttentionConfig& c_;
  std::map<std::string, Array> parameters_;
};

}  // namespace

NaiveResult naive_attention(const NaiveProblem& problem) {
  const std::string& scope = problem.config.scope;
  check(scope == "global" || scope == "local-m" || scope == "local-p",
        "naive attention: expected a scope with an equation, got {}", scope);
  return Naive(problem)();
}

}  // namespace fovea::testing
