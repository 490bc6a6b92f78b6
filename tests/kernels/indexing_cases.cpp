// Permutations of axes, gather and scatter-add, and pooling over time.
#include <fmt/format.h>

#include "kernels/case_lists.h"

namespace fovea::testing {

namespace {

void add_permutations(std::vector<Case>& list) {
  list.push_back({"permute_matrix", {"permute"}, {{{37, 41}}}, [](auto& x, auto&) -> std::vector<Var> {
                    return {permute(x[0], {1, 0})};
                  }});
  // Three permutations of one input: with rows that stay contiguous, without, and with only some axes moved.
  list.push_back({"permute_three_axes",
                  {"permute"},
                  {{{3, 5, 19}}},
                  [](auto& x, auto&) -> std::vector<Var> {
                    return {permute(x[0], {1, 0, 2}), permute(x[0], {2, 0, 1}), permute(x[0], {0, 2, 1})};
                  },
                  {16, 4}});
  list.push_back({"permute_six_axes", {"permute"}, {{{2, 3, 1, 2, 3, 2}}}, [](auto& x, auto&) -> std::vector<Var> {
                    return {permute(x[0], {3, 5, 0, 2, 4, 1})};
                  }});
  list.push_back({"permute_to_one_column", {"permute"}, {{{2, 3, 1}}}, [](auto& x, auto&) -> std::vector<Var> {
                    return {permute(x[0], {1, 2, 0})};
                  }});
  list.push_back({"permute_nothing", {}, {{{4, 0, 3}}}, [](auto& x, auto&) -> std::vector<Var> {
                    return {permute(x[0], {2, 0, 1})};
                  }});
  // A part of a gradient that others add to as well.
  list.push_back({"permute_of_a_slice",
                  {"permute"},
                  {{{4, 3, 5}}},
                  [](auto& x, auto&) -> std::vector<Var> {
                    return {permute(x[0].slice(1, 3), {2, 1, 0}), x[0] * x[0]};
                  },
                  {16, 4}});
}

void add_gathers(std::vector<Case>& list) {
  struct Gathered {
    const char* name;
    Shape whole, index;
    int axis;
  };
  const Gathered all[] = {{"rows", {7, 13}, {5, 1}, 0},
                          {"columns", {6, 37}, {6, 9}, 1},
                          {"steps", {5, 3, 33}, {1, 3, 1}, 0},
                          {"middle", {2, 6, 35}, {2, 4, 35}, 1},
                          {"broadcast", {4, 3, 11}, {1, 3, 70}, 2},
                          {"spread", {3, 2, 5, 4, 2}, {1, 2, 6, 4, 1}, 2},
                          {"one", {1}, {1}, 0},
                          {"nothing", {3, 4}, {3, 0}, 1}};
  for (const Gathered& g : all) {
    // Few different indices, so that there are many equal ones.
    const auto index = [shape = g.index, count = g.whole[g.axis]](const Setting& s) {
      std::vector<int32_t> values(static_cast<size_t>(shape.count()));
      const int64_t different = std::min(count, (count + 1) / 2 + 1);
      for (size_t k = 0; k < values.size(); ++k) {
        values[k] = static_cast<int32_t>(static_cast<int64_t>(k * k * 7 + k) % different);
      }
      return ints(s, values, shape);
    };
    const Shape picked = g.whole.with(g.axis, g.index[g.axis]);
    list.push_back({fmt::format("gather_{}", g.name),
                    {"gather", "scatter_add"},
                    {{g.whole}},
                    [=, axis = g.axis](auto& x, auto& s) -> std::vector<Var> { return {gather(x[0], axis, index(s))}; },
                    {32, 3}});
    list.push_back(
        {fmt::format("scatter_add_{}", g.name),
         {"scatter_add", "gather"},
         {{g.whole}, {picked}},
         [=, axis = g.axis](auto& x, auto& s) -> std::vector<Var> { return {scatter_add(x[0], axis, index(s), x[1])}; },
         {32, 3}});
  }
}

Tensor lengths_of(const Setting& s, int64_t batch, int64_t steps) {
  std::vector<int32_t> lengths(static_cast<size_t>(batch));
  for (size_t b = 0; b < lengths.size(); ++b)
    lengths[b] = static_cast<int32_t>(std::max<int64_t>(0, steps - 2 * static_cast<int64_t>(b)));
  if (lengths.size() > 2) lengths[1] = 0;
  return ints(s, lengths);
}

void add_pooling_over_time(std::vector<Case>& list) {
  for (const Shape& shape : {Shape{5, 3, 19}, Shape{1, 1, 1}, Shape{7, 1, 32}, Shape{0, 2, 5}, Shape{9, 4, 8}}) {
    const std::string size = fmt::format("{}x{}x{}", shape[0], shape[1], shape[2]);
    list.push_back({"pool_time_" + size,
                    {"pool_time", "pool_time_grad"},
                    {{shape}},
                    [](auto& x, auto&) -> std::vector<Var> {
                      return {pool_time(PoolOp::kAverage, x[0]), pool_time(PoolOp::kMaximum, x[0])};
                    },
                    {32, 4}});
    list.push_back({"pool_time_lengths_" + size,
                    {"pool_time", "pool_time_grad"},
                    {{shape}},
                    [](auto& x, auto& s) -> std::vector<Var> {
                      const Tensor lengths = lengths_of(s, x[0].dim(1), x[0].dim(0));
                      return {pool_time(PoolOp::kAverage, x[0], lengths), pool_time(PoolOp::kMaximum, x[0], lengths)};
                    },
                    {32, 4}});
  }
  list.push_back({"pool_time_huge",
                  {"pool_time", "pool_time_grad"},
                  {{{6, 2, 9}, -3e37, -1e37}},
                  [](auto& x, auto&) -> std::vector<Var> { return {pool_time(PoolOp::kMaximum, x[0])}; }});
  for (const int64_t heads : {1, 3}) {
    list.push_back({fmt::format("attention_pool_{}", heads),
                    {"permute", "softmax", "softmax_grad", "matmul"},
                    {{{6, 4, heads}, -2, 2}, {{6, 4, 15}}},
                    [](auto& x, auto& s) -> std::vector<Var> {
                      const Attended some = attention_pool(x[0], x[1], lengths_of(s, 4, 6));
                      return {some.out, attention_pool(x[0], x[1]).out};
                    },
                    {64, 6}});
  }
}

}  // namespace

void add_indexing(std::vector<Case>& list) {
  add_permutations(list);
  add_gathers(list);
  add_pooling_over_time(list);
}

}  // namespace fovea::testing
