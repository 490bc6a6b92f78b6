// The score functions, one class and one entry each, and the entries of the other axes.
#include "attention/registry.h"

#include <fmt/format.h>

#include <cmath>

#include "attention/attention.h"

namespace fovea {

namespace {

void expect_equal_depths(const AttentionConfig& config, const ScoreSizes& sizes) {
  check(sizes.query == sizes.keys,
        "{0}.score: {1} needs queries and keys of the same size, got {2} and {3}; set model.bidirectional = false or "
        "{0}.heads above 1, or use the score general or additive",
        config.section, config.score, sizes.query, sizes.keys);
}

// A scaled dot product of the query with projected keys, which the fused kernel computes.
class ProductScore : public Score {
 public:
  explicit ProductScore(const AttentionConfig& config, float scale = 1.0f) : heads_(config.heads), scale_(scale) {}
  Var score(const Var& query, const Var& projected, const Tensor&) const override {
    return dot_score(query, projected, heads_, scale_);
  }
  bool is_dot(float* scale) const override {
    *scale = scale_;
    return true;
  }

 private:
  int64_t heads_;
  float scale_;
};

// Luong et al. 2015: q . k, and Vaswani et al. 2017: q . k / sqrt(d)
class DotScore final : public ProductScore {
 public:
  DotScore(const AttentionConfig& config, const ScoreSizes& sizes, float scale) : ProductScore(config, scale) {
    expect_equal_depths(config, sizes);
  }
};

// Luong et al. 2015: q . W k
class GeneralScore final : public ProductScore {
 public:
  GeneralScore(const AttentionConfig& config, const ScoreSizes& sizes, Parameters& parameters, const std::string& name)
      : ProductScore(config), weight_(parameters, name + ".general", sizes.keys, sizes.query, {.bias = false}) {}
  Var project_keys(const Var& keys, int64_t) const override { return weight_(keys); }

 private:
  Linear weight_;
};

// Bahdanau et al. 2015: v . tanh(W q + U k). With the bias it is Luong's concat: v . tanh(W [q; k] + b).
class AdditiveScore final : public Score {
 public:
  AdditiveScore(const AttentionConfig& config, const ScoreSizes& sizes, Parameters& parameters, const std::string& name,
                bool bias)
      : heads_(config.heads),
        query_(parameters, name + ".query", sizes.query, sizes.depth, {.bias = false}),
        keys_(parameters, name + ".keys", sizes.keys, sizes.depth, {.bias = bias}),
        v_(&parameters.add(name + ".v", {sizes.depth},
                           Initialiser::uniform(1.0 / std::sqrt(static_cast<double>(sizes.depth))))) {}
  Var project_keys(const Var& keys, int64_t) const override { return keys_(keys); }
  Var score(const Var& query, const Var& projected, const Tensor& lengths) const override {
    return additive_score(query_(query), projected, *v_, heads_, lengths);
  }
  // Not on the host, where the cost is the number of tanh evaluations and not their launches or memory traffic.
  Attended attend(const Var& query, const Var& projected, const Var& values, const Tensor& lengths) const override {
    constexpr int64_t kFew = 8;
    if (query.device().on_host() || query.dim(0) > kFew) return {};
    return additive_attention(query_(query), projected, *v_, values, {heads_, lengths});
  }

 private:
  int64_t heads_;
  Linear query_, keys_;
  const Parameter* v_;
};

// Graves et al. 2014: beta cos(q, k), with beta = exp(g) learned from 1.
class CosineScore final : public Score {
 public:
  CosineScore(const AttentionConfig& config, const ScoreSizes& sizes, Parameters& parameters, const std::string& name)
      : heads_(config.heads), sharpness_(&parameters.add(name + ".sharpness", {1}, Initialiser::constant(1.0))) {
    expect_equal_depths(config, sizes);
  }
  Var project_keys(const Var& keys, int64_t) const override { return unit(keys); }
  Var score(const Var& query, const Var& projected, const Tensor&) const override {
    const Var cosine = dot_score(unit(query), projected, heads_);
    return cosine * cast(exp(*sharpness_), cosine.dtype());
  }

 private:
  Var unit(const Var& x) const {
    return normalize(x.reshape({x.dim(0), x.dim(1), heads_, x.dim(2) / heads_})).reshape(x.shape());
  }
  int64_t heads_;
  const Parameter* sharpness_;
};

// Luong et al. 2015: the query alone scores positions: row s of W q.
class LocationScore final : public ProductScore {
 public:
  LocationScore(const AttentionConfig& config, const ScoreSizes& sizes, Parameters& parameters, const std::string& name)
      : ProductScore(config),
        rows_(parameters, name + ".location", config.longest, sizes.query),
        section_(config.section) {}
  // The key of a position is its row of W.
  Var project_keys(const Var& keys, int64_t first) const override {
    const int64_t longest = rows_.table().shape()[0];
    check(first + keys.dim(0) <= longest, "{}.longest: the location score takes at most {} tokens, got {}", section_,
          longest, first + keys.dim(0));
    std::vector<int32_t> position(static_cast<size_t>(keys.dim(0) * keys.dim(1)));
    for (size_t i = 0; i < position.size(); ++i) {
      position[i] = static_cast<int32_t>(first) + static_cast<int32_t>(i / static_cast<size_t>(keys.dim(1)));
    }
    return cast(rows_(from_host(position, {keys.dim(0), keys.dim(1)}, keys.device())), keys.dtype());
  }
  int64_t max_keys() const override { return rows_.table().shape()[0]; }

 private:
  Embedding rows_;
  std::string section_;
};

template <class Made>
std::unique_ptr<Score> with_parameters(const AttentionConfig& config, const ScoreSizes& sizes, Parameters& parameters,
                                       const std::string& name) {
  return std::make_unique<Made>(config, sizes, parameters, name);
}

constexpr std::string_view kBahdanau = "Bahdanau et al. 2015", kLuong = "Luong et al. 2015",
                           kVaswani = "Vaswani et al. 2017";

// One position: sampled while a tape records training, else the most likely one.
Var select_hard(const Var& scores, const Mask& mask, const AttentionConfig& config, AttentionResult& result) {
  const Var soft = softmax(scores, mask);
  const Tape* tape = Tape::current();
  const bool training = tape != nullptr && tape->training();
  const bool straight_through = config.estimator == "straight-through";
  const Var chosen = sample_one_hot(soft, /*stochastic=*/training, straight_through);
  if (!training || straight_through) return chosen;
  // Half of the samples, at random, are replaced by the expected value (Xu et al. 2015, section 4.1). Its exact
  // gradient reduces the variance of the estimate.
  const Shape rows = soft.shape().with(3, 1);
  const Var one = affine(Var(zeros(rows, soft.dtype(), soft.device())), 1.0f, 1.0f);
  const Var sampled = affine(dropout(one, 0.5f), 0.5f);  // 1 or 0
  // The weight of a chosen position is never 0, but a fully masked row has none: epsilon keeps its logarithm finite.
  const Var log_prob = log(affine(sum(chosen * soft, 3), 1.0f, 1e-20f));
  result.selection_log_prob = log_prob * sampled.reshape(log_prob.shape());
  result.entropy = affine(sum(soft * log(affine(soft, 1.0f, 1e-20f)), 3), -1.0f);
  return soft + (chosen - soft) * sampled;
}

const ScoreEntry kScores[] = {
    {{"dot", "q . k", kLuong, "T S D", "Dot product. No parameters; queries and keys have the same size."},
     /*compares_directly=*/true,
     /*uses_keys=*/true,
     /*uses_depth=*/false,
     /*uses_longest=*/false,
     [](const AttentionConfig& c, const ScoreSizes& s, Parameters&, const std::string&) -> std::unique_ptr<Score> {
       return std::make_unique<DotScore>(c, s, 1.0f);
     }},
    {{"scaled-dot", "q . k / sqrt(d)", kVaswani, "T S D",
      "Dot product, scaled so that the softmax does not saturate in high dimensions."},
     /*compares_directly=*/true,
     /*uses_keys=*/true,
     /*uses_depth=*/false,
     /*uses_longest=*/false,
     [](const AttentionConfig& c, const ScoreSizes& s, Parameters&, const std::string&) -> std::unique_ptr<Score> {
       const int64_t depth = s.query / c.heads;
       return std::make_unique<DotScore>(c, s, 1.0f / std::sqrt(static_cast<float>(depth)));
     }},
    {{"general", "q . W k", kLuong, "S D^2 + T S D", "Bilinear: a learned matrix between query and key."},
     /*compares_directly=*/false,
     /*uses_keys=*/true,
     /*uses_depth=*/false,
     /*uses_longest=*/false,
     with_parameters<GeneralScore>},
    {{"additive", "v . tanh(W q + U k)", kBahdanau, "(T + S) D^2 + T S D tanh",
      "A one-layer network over query and key."},
     /*compares_directly=*/false,
     /*uses_keys=*/true,
     /*uses_depth=*/true,
     /*uses_longest=*/false,
     [](const AttentionConfig& c, const ScoreSizes& s, Parameters& p, const std::string& n) -> std::unique_ptr<Score> {
       return std::make_unique<AdditiveScore>(c, s, p, n, false);
     }},
    {{"concat", "v . tanh(W [q; k] + b)", kLuong, "(T + S) D^2 + T S D tanh",
      "Additive over the concatenated vectors, with a bias."},
     /*compares_directly=*/false,
     /*uses_keys=*/true,
     /*uses_depth=*/true,
     /*uses_longest=*/false,
     [](const AttentionConfig& c, const ScoreSizes& s, Parameters& p, const std::string& n) -> std::unique_ptr<Score> {
       return std::make_unique<AdditiveScore>(c, s, p, n, true);
     }},
    {{"cosine", "b q . k / (|q| |k|)", "Graves et al. 2014", "T S D", "Cosine similarity with a learned sharpness b."},
     /*compares_directly=*/true,
     /*uses_keys=*/true,
     /*uses_depth=*/false,
     /*uses_longest=*/false,
     with_parameters<CosineScore>},
    {{"location", "(W q)_s", kLuong, "T S D", "The query alone chooses the position; keys are ignored."},
     /*compares_directly=*/false,
     /*uses_keys=*/false,
     /*uses_depth=*/false,
     /*uses_longest=*/true,
     with_parameters<LocationScore>},
};

const ScopeEntry kScopes[] = {
    {{"global", "all s", kBahdanau, "T S", "Every source position."}, /*window=*/false, /*predicts_center=*/false},
    {{"local-m", "|s - t| <= w", kLuong, "T w", "A window that moves by one position per step."},
     /*window=*/true,
     /*predicts_center=*/false},
    {{"local-p", "|s - p| <= w, p = S sigmoid(v . tanh(W q))", kLuong, "T w",
      "A window around a predicted position, weighted by a Gaussian."},
     /*window=*/true,
     /*predicts_center=*/true},
};

const SelectionEntry kSelections[] = {
    {{"soft", "softmax", kBahdanau, "T S", "A weighted mean of all values."},
     /*is_softmax=*/true,
     /*hard=*/false,
     [](const Var& scores, const Mask& mask, const AttentionConfig&, AttentionResult&) {
       return softmax(scores, mask);
     }},
    {{"sparse", "sparsemax", "Martins & Astudillo 2016", "T S log S",
      "A weighted mean in which most weights are exactly zero."},
     /*is_softmax=*/false,
     /*hard=*/false,
     [](const Var& scores, const Mask& mask, const AttentionConfig&, AttentionResult&) {
       return sparsemax(scores, mask);
     }},
    {{"hard", "one sampled s", "Xu et al. 2015", "T S",
      "One value: sampled in training (REINFORCE or straight-through), the most likely one in decoding."},
     /*is_softmax=*/false,
     /*hard=*/true,
     select_hard},
};

const RelativeEntry kRelatives[] = {
    {{"none", "", "", "", "No positions inside the score."},
     /*rotary=*/false,
     /*distance_vectors=*/false,
     /*distance_penalty=*/false},
    {{"shaw", "q . (k + r_{s-t})", "Shaw et al. 2018", "T S D",
      "A learned vector for each distance, clipped at the window."},
     /*rotary=*/false,
     /*distance_vectors=*/true,
     /*distance_penalty=*/false},
    {{"rotary", "R_t q . R_s k", "Su et al. 2021", "(T + S) D",
      "Queries and keys rotated by an angle that grows with their position."},
     /*rotary=*/true,
     /*distance_vectors=*/false,
     /*distance_penalty=*/false},
    {{"alibi", "q . k - m_h |s - t|", "Press et al. 2022", "T S",
      "A penalty that grows with distance, steeper in some heads."},
     /*rotary=*/false,
     /*distance_vectors=*/false,
     /*distance_penalty=*/true},
};

}  // namespace

std::span<const ScoreEntry> scores() { return kScores; }
std::span<const ScopeEntry> scopes() { return kScopes; }
std::span<const SelectionEntry> selections() { return kSelections; }
std::span<const RelativeEntry> relatives() { return kRelatives; }

std::string AttentionConfig::mechanism() const {
  std::string text = fmt::format("{}, {}, {}", score, scope, selection);
  if (heads > 1) text += fmt::format(", {} heads", heads);
  if (relative != "none") text += ", " + relative;
  if (coverage) text += ", coverage";
  if (sentinel) text += ", sentinel";
  return text;
}

bool AttentionConfig::uses_reinforce() const {
  const SelectionEntry* entry = find_entry(kSelections, selection);
  return entry != nullptr && entry->hard && estimator == "reinforce";
}

void AttentionConfig::describe(Fields& f) {
  const ScoreEntry* scored = find_entry(kScores, score);
  const ScopeEntry* scoped = find_entry(kScopes, scope);
  const SelectionEntry* selected = find_entry(kSelections, selection);
  const RelativeEntry* positioned = find_entry(kRelatives, relative);
  // A value that is not in a registry is reported by its own key; it makes no other key useless.
  const bool uses_depth = !scored || scored->uses_depth, uses_longest = !scored || scored->uses_longest;
  const bool local = !scoped || scoped->window, predicts = !scoped || scoped->predicts_center;
  const bool vectors = !positioned || positioned->distance_vectors, hard = !selected || selected->hard;
  const auto names = [](const auto& entries, auto property) { return names_with(entries, property); };
  const std::string depth_scores = names(kScores, [](const auto& e) { return e.uses_depth; });
  const std::string depth_scopes = names(kScopes, [](const auto& e) { return e.predicts_center; });
  const std::string hard_names = names(kSelections, [](const auto& e) { return e.hard; });
  f.add("score", score, "Score function that compares a query with a key.").choices(names_of(kScores));
  f.add("scope", scope, "Positions a query may attend to.").choices(names_of(kScopes));
  f.add("selection", selection, "How scores become attention weights.").choices(names_of(kSelections));
  f.add("heads", heads, "Number of attention heads; depth is divided among them.")
      .at_least(1)
      .also_called({"num_heads", "n_heads", "nhead", "head"});
  f.add(
       "depth", depth,
       fmt::format("Dimension in which queries and keys are compared (score {}, scope {}, or several heads); 0 for the "
                   "query's.",
                   depth_scores, depth_scopes))
      .at_least(0)
      .also_called({"dim", "size", "attention_dim"})
      .needs(uses_depth || heads > 1 || predicts,
             fmt::format("{} = {}, {} above 1, or {} = {}", f.key("score"), depth_scores, f.key("heads"),
                         f.key("scope"), depth_scopes));
  f.add("window", window,
        "Local scopes: window size to each side, in positions. shaw: largest distance with its own vector.")
      .at_least(1)
      .needs(local || vectors,
             fmt::format("{} = {}, or {} = {}", f.key("scope"), names(kScopes, [](const auto& e) { return e.window; }),
                         f.key("relative"), names(kRelatives, [](const auto& e) { return e.distance_vectors; })));
  f.add("longest", longest, "Location score: longest source it can attend to, in tokens.")
      .at_least(1)
      .also_called({"max_length", "max_len"})
      .needs(uses_longest,
             fmt::format("{} = {}", f.key("score"), names(kScores, [](const auto& e) { return e.uses_longest; })));
  f.add("relative", relative, "Relative positions inside the score.").choices(names_of(kRelatives));
  f.add("coverage", coverage, "Add the sum of earlier attention weights to the score (See et al. 2017).");
  f.add("sentinel", sentinel,
        "Recurrent decoders with LSTM cells: attend also to a sentinel, a gated part of the cell state, so that a step "
        "may look at no place (Lu et al. 2017).");
  f.add("dropout", dropout, "Dropout rate of the attention weights.").at_least(0).below(1);
  f.add("estimator", estimator, "Hard selection: gradient estimator.")
      .choices({"reinforce", "straight-through"})
      .needs(hard, fmt::format("{} = {}", f.key("selection"), hard_names));
  f.add("entropy_bonus", entropy_bonus, "Hard selection with reinforce: weight of the entropy bonus.")
      .at_least(0)
      .needs(hard && estimator == "reinforce",
             fmt::format("{} = {} with {} = reinforce", f.key("selection"), hard_names, f.key("estimator")));
}

}  // namespace fovea
