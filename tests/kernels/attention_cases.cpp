// Cases of softmax over masked scores and of all attention kernels.
#include <fmt/format.h>

#include <limits>

#include "kernels/case_lists.h"

namespace fovea::testing {

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Returns a deterministic bias for scores that masks some keys, and one whole row if there are several.
Tensor hiding_bias(const Setting& s, const Shape& shape) {
  std::vector<double> bias(static_cast<size_t>(shape.count()));
  const int64_t keys = shape[3];
  for (size_t i = 0; i < bias.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / keys, key = static_cast<int64_t>(i) % keys;
    const bool hidden = (row * 5 + key * 3) % 4 == 1 || (shape.count() / keys > 1 && row == 1);
    bias[i] = hidden ? -kInf : 0.25 * static_cast<double>(key % 3);
  }
  return from_doubles(bias, shape, accumulator_of(s.dtype), s.device);
}

// All masks that a row-wise kernel over scores must respect.
std::vector<std::pair<std::string, std::function<Mask(const Setting&, const ScoreShape&)>>> masks() {
  return {
      {"plain", [](auto&, auto&) { return Mask{}; }},
      {"lengths",
       [](auto& s, auto& shape) {
         std::vector<int32_t> lengths(static_cast<size_t>(shape.batch));
         for (size_t b = 0; b < lengths.size(); ++b)
           lengths[b] = static_cast<int32_t>(shape.keys - static_cast<int64_t>(b) * 2);
         if (lengths.size() > 1) lengths[1] = 0;
         for (int32_t& length : lengths) length = std::max(length, 0);
         return Mask{.lengths = ints(s, lengths)};
       }},
      {"causal", [](auto&, auto&) { return Mask{.causal = true}; }},
      {"causal_offset", [](auto&, auto&) { return Mask{.causal = true, .offset = -1}; }},
      {"bias",
       [](auto& s, auto& shape) {
         return Mask{.bias = hiding_bias(s, {shape.batch, shape.heads, shape.queries, shape.keys})};
       }},
      {"spread_bias",
       [](auto& s, auto& shape) {
         return Mask{.bias = hiding_bias(s, {1, shape.heads, 1, shape.keys})};
       }},
  };
}

}  // namespace

void add_softmax(std::vector<Case>& list) {
  for (const ScoreShape& shape : {ScoreShape{2, 3, 4, 5}, ScoreShape{1, 1, 1, 1}, ScoreShape{2, 1, 3, 41}}) {
    for (const auto& [name, mask] : masks()) {
      const Input scores{{shape.batch, shape.heads, shape.queries, shape.keys}, -3, 3};
      const std::string suffix = fmt::format("{}_{}", name, shape.keys);
      list.push_back(
          {"softmax_" + suffix,
           {"softmax", "softmax_grad"},
           {scores},
           [=, mask = mask](auto& x, auto& s) -> std::vector<Var> { return {softmax(x[0], mask(s, shape))}; },
           {32, 4}});
      list.push_back(
          {"sparsemax_" + suffix,
           {"sparsemax", "sparsemax_grad"},
           {scores},
           [=, mask = mask](auto& x, auto& s) -> std::vector<Var> { return {sparsemax(x[0], mask(s, shape))}; },
           {32, 4}});
      list.push_back(
          {"log_softmax_" + suffix,
           {"softmax", "softmax_grad"},
           {scores},
           [=, mask = mask](auto& x, auto& s) -> std::vector<Var> { return {log_softmax(x[0], mask(s, shape))}; },
           {32, 4}});
    }
  }
  list.push_back({"softmax_huge_logits",
                  {"softmax", "softmax_grad"},
                  {{{1, 1, 7, 19}, -1e4, 1e4}},
                  [](auto& x, auto&) -> std::vector<Var> {
                    return {softmax(x[0]), log_softmax(x[0]), sparsemax(x[0])};
                  },
                  {64, 4}});
  for (const int64_t classes : {1, 11, 1009}) {
    for (const float smoothing : {0.0f, 0.1f}) {
      list.push_back({fmt::format("cross_entropy_{}{}", classes, smoothing > 0 ? "_smoothed" : ""),
                      {"cross_entropy", "cross_entropy_grad"},
                      {{{5, classes}, -4, 4}},
                      [=](auto& x, auto& s) -> std::vector<Var> {
                        const auto last = static_cast<int32_t>(classes - 1);
                        return {cross_entropy(x[0], ints(s, {0, last, -1, last / 2, 0}), smoothing)};
                      },
                      {64, 4}});
    }
  }
  list.push_back({"cross_entropy_huge_logits",
                  {"cross_entropy", "cross_entropy_grad"},
                  {{{4, 13}, -1e4, 1e4}},
                  [](auto& x, auto& s) -> std::vector<Var> {
                    return {cross_entropy(x[0], ints(s, {0, 3, 12, 7}), 0.1f)};
                  },
                  {64, 4}});
  list.push_back({"negative_log_likelihood",
                  {"cross_entropy", "cross_entropy_grad"},
                  {{{4, 13}, -4, 4}},
                  [](auto& x, auto& s) -> std::vector<Var> {
                    return {negative_log_likelihood(x[0], ints(s, {0, 3, -1, 7}))};
                  },
                  {64, 4}});
}

// Repeated source tokens, targets outside the source, targets outside the vocabulary, and targets that are ignored.
void add_pointer_loss(std::vector<Case>& list) {
  for (const Shape& shape : {Shape{3, 2, 5, 7}, Shape{1, 1, 1, 1}, Shape{2, 3, 4, 67}, Shape{5, 1, 3, 0}}) {
    const int64_t batch = shape[0], steps = shape[2], keys = shape[3];
    const auto ids = [](const Setting& s, const Shape& of, int64_t different) {
      std::vector<int32_t> x(static_cast<size_t>(of.count()));
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<int32_t>(static_cast<int64_t>(i * i + 3 * i) % different);
      return ints(s, x, of);
    };
    const auto targets = [=](const Setting& s) {
      return PointerTargets{
          .source = ids(s, {batch, keys}, 5), .targets = ids(s, {steps, batch}, 7), .vocabulary = 3, .ignore = 2};
    };
    const std::string size = fmt::format("{}x{}x{}x{}", batch, shape[1], steps, keys);
    list.push_back({"pointer_loss_" + size,
                    {"pointer_loss", "pointer_loss_grad"},
                    {{shape, 0.01, 1}, {{steps, batch}, 0.1, 4, true}, parameter({steps, batch}, 3)},
                    [=](auto& x, auto& s) -> std::vector<Var> { return {pointer_loss(x[0], x[1], x[2], targets(s))}; },
                    {64, 8}});
    list.push_back({"pointer_loss_without_vocabulary_" + size,
                    {"pointer_loss", "pointer_loss_grad"},
                    {{shape, 0.01, 1}},
                    [=](auto& x, auto& s) -> std::vector<Var> { return {pointer_loss(x[0], {}, {}, targets(s))}; },
                    {64, 8}});
  }
}

void add_attention(std::vector<Case>& list) {
  struct Size {
    int64_t t, s, b, heads, depth;
  };
  for (const auto& [t, s, b, heads, depth] :
       {Size{1, 1, 1, 1, 1}, Size{3, 5, 2, 1, 7}, Size{4, 3, 3, 3, 5}, Size{1, 21, 2, 2, 8}, Size{9, 18, 1, 1, 35}}) {
    const std::string size = fmt::format("{}x{}x{}x{}x{}", t, s, b, heads, depth);
    const Input query{{t, b, heads * depth}}, keys{{s, b, heads * depth}};
    list.push_back(
        {"dot_score_" + size,
         {"matmul"},
         {query, keys},
         [=, heads = heads](auto& x, auto&) -> std::vector<Var> { return {dot_score(x[0], x[1], heads, 0.5f)}; },
         {64, 3}});
    list.push_back({"mix_" + size,
                    {"matmul"},
                    {{{b, heads, t, s}, 0.0, 1.0}, keys},
                    [](auto& x, auto&) -> std::vector<Var> { return {weighted_sum(x[0], x[1])}; },
                    {64, 3}});
    for (const bool with_lengths : {false, true}) {
      list.push_back({fmt::format("additive_score_{}{}", size, with_lengths ? "_lengths" : ""),
                      {"additive_score", "additive_score_grad"},
                      {query, keys, parameter({heads * depth})},
                      [=, s = s, b = b, heads = heads](auto& x, auto& set) -> std::vector<Var> {
                        std::vector<int32_t> lengths(static_cast<size_t>(b), static_cast<int32_t>(s));
                        lengths.back() = static_cast<int32_t>(s / 2);
                        return {additive_score(x[0], x[1], x[2], heads, with_lengths ? ints(set, lengths) : Tensor())};
                      },
                      {128, 4}});
    }
    for (const bool with_lengths : {false, true}) {
      // Two steps attend to the same states, so that their deferred gradients are combined.
      list.push_back({fmt::format("additive_attention_{}{}", size, with_lengths ? "_lengths" : ""),
                      {"additive_attention", "additive_attention_grad"},
                      {query, keys, parameter({heads * depth}), {{s, b, heads * (depth + 2)}}, query},
                      [=, s = s, b = b, heads = heads](auto& x, auto& set) -> std::vector<Var> {
                        std::vector<int32_t> lengths(static_cast<size_t>(b), static_cast<int32_t>(s));
                        lengths.back() = static_cast<int32_t>(s / 2);
                        const AdditiveAttention options{heads, with_lengths ? ints(set, lengths) : Tensor()};
                        const Var values = affine(x[3], 2.0f), projected = affine(x[1], 0.5f);
                        const Var first = additive_attention(x[0], projected, x[2], values, options).out;
                        return {first, additive_attention(x[4], projected, x[2], values, options).out};
                      },
                      {256, 8}});
    }
    for (const auto& [name, mask] : masks()) {
      for (const float rate : {0.0f, 0.4f}) {
        if (rate > 0.0f && name != "plain" && name != "lengths") continue;
        list.push_back(
            {fmt::format("dot_attention_{}_{}{}", size, name, rate > 0 ? "_dropout" : ""),
             {"dot_attention", "dot_attention_grad"},
             {query, keys, {{s, b, heads * (depth + 2)}}},
             [=, t = t, s = s, b = b, heads = heads, mask = mask](auto& x, auto& set) -> std::vector<Var> {
               const ScoreShape shape{b, heads, t, s};
               return {
                   dot_attention(x[0], x[1], x[2], {.heads = heads, .mask = mask(set, shape), .dropout = rate}).out};
             },
             {128, 6}});
      }
    }
    for (const float width : {0.0f, 2.6f}) {
      list.push_back({fmt::format("gaussian_window_{}{}", size, width > 0 ? "_cut" : ""),
                      {"gaussian_window", "gaussian_window_grad"},
                      {{{b, heads, t, s}, 0.0, 1.0}, {{t, b, heads}, 0.1, static_cast<double>(s)}},
                      [=](auto& x, auto&) -> std::vector<Var> { return {gaussian_window(x[0], x[1], 1.5f, width)}; },
                      {64, 6}});
    }
  }
  // Sizes that are multiples of eight, as the CUDA kernels require, and two steps with the same keys and values.
  for (const int64_t heads : {1, 2}) {
    const int64_t depth = 24 * heads, values = 40 * heads;
    const Input query{{2, 3, depth}}, keys{{7, 3, depth}};
    list.push_back({fmt::format("additive_attention_packed_{}", heads),
                    {"additive_attention", "additive_attention_grad"},
                    {query, keys, parameter({depth}), {{7, 3, values}}, query},
                    [=](auto& x, auto& set) -> std::vector<Var> {
                      const AdditiveAttention options{heads, ints(set, {7, 0, 4})};
                      const Var of_values = affine(x[3], 2.0f), projected = affine(x[1], 0.5f);
                      const Var first = additive_attention(x[0], projected, x[2], of_values, options).out;
                      return {first, additive_attention(x[4], projected, x[2], of_values, options).out};
                    },
                    {256, 8}});
    list.push_back({fmt::format("dot_attention_steps_{}", heads),
                    {"dot_attention", "dot_attention_grad"},
                    {query, keys, {{7, 3, values}}, query},
                    [=](auto& x, auto& set) -> std::vector<Var> {
                      const DotAttention options{.heads = heads, .mask = {.lengths = ints(set, {7, 0, 4})}};
                      const Var of_values = affine(x[2], 2.0f), projected = affine(x[1], 0.5f);
                      const Var first = dot_attention(x[0], projected, of_values, options).out;
                      return {first, dot_attention(x[3], projected, of_values, options).out};
                    },
                    {128, 6}});
    // Heads too wide for a tile, with two queries and with more queries than a decoder step has.
    for (const int64_t steps : {2, 11}) {
      const Input wide{{steps, 3, 136 * heads}};
      list.push_back({fmt::format("dot_attention_wide_{}x{}", heads, steps),
                      {"dot_attention", "dot_attention_grad"},
                      {wide, {{7, 3, 136 * heads}}, {{7, 3, values}}},
                      [=](auto& x, auto& set) -> std::vector<Var> {
                        const Mask mask{.lengths = ints(set, {7, 0, 4}), .causal = heads == 2, .offset = 1};
                        return {dot_attention(x[0], x[1], x[2], {.heads = heads, .mask = mask}).out};
                      },
                      {128, 6}});
    }
  }
  // Queries, keys and values that are parts of one tensor: its gradient is overwritten as a whole, or accumulated.
  for (const bool again : {false, true}) {
    list.push_back({again ? "dot_attention_of_parts_again" : "dot_attention_of_parts",
                    {"dot_attention", "dot_attention_grad"},
                    {{{3, 5, 2, 16}}},
                    [=](auto& x, auto&) -> std::vector<Var> {
                      const Var all = affine(x[0], 2.0f);
                      const Var first = dot_attention(all[0], all[1], all[2], {.heads = 2}).out;
                      if (!again) return {first};
                      return {first, dot_attention(all[0], all[1], all[1], {.heads = 2}).out};
                    },
                    {128, 6}});
  }
  for (const int64_t heads : {1, 3}) {
    list.push_back({fmt::format("rotary_{}", heads),
                    {"rotary"},
                    {{{5, 2, heads * 10}}},
                    [=](auto& x, auto&) -> std::vector<Var> {
                      return {rotary(x[0], heads, 3), rotary(x[0], heads, 7, 0)};
                    },
                    {32, 4}});
    list.push_back({fmt::format("relative_score_{}", heads),
                    {"matmul", "embedding_grad"},
                    {{{4, 2, heads * 5}}, parameter({5, 5})},
                    [=](auto& x, auto&) -> std::vector<Var> {
                      return {relative_score(x[0], x[1], 6, heads), relative_score(x[0], x[1], 3, heads, {2, 0})};
                    },
                    {64, 4}});
  }
  list.push_back({"dot_attention_huge_logits",
                  {"dot_attention", "dot_attention_grad"},
                  {{{3, 2, 4}, -100, 100}, {{5, 2, 4}, -100, 100}, {{5, 2, 4}}},
                  [](auto& x, auto&) -> std::vector<Var> { return {dot_attention(x[0], x[1], x[2]).out}; },
                  {4096, 64}});
  list.push_back({"additive_score_huge",
                  {"additive_score", "additive_score_grad"},
                  {{{3, 2, 9}, -100, 100}, {{5, 2, 9}, -100, 100}, parameter({9})},
                  [](auto& x, auto&) -> std::vector<Var> { return {additive_score(x[0], x[1], x[2])}; },
                  {1024, 16}});
}

}  // namespace fovea::testing
