#include "view/record_selection.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea {

namespace {

// Slices one layer, one head or both out of [layer, head, ...], where each head has `size` numbers.
std::vector<float> sliced(const std::vector<float>& all, const RecordedAttention& a, int64_t layer, int64_t head,
                          int64_t size) {
  std::vector<float> part;
  if (all.empty()) return part;
  for (int64_t l = 0; l < a.layers; ++l) {
    for (int64_t h = 0; h < a.heads; ++h) {
      if ((layer > 0 && l != layer - 1) || (head > 0 && h != head - 1)) continue;
      const auto from = all.begin() + (l * a.heads + h) * size;
      part.insert(part.end(), from, from + size);
    }
  }
  return part;
}

void slice(RecordedAttention& a, int64_t layer, int64_t head) {
  check(layer <= a.layers, "layer: expected at most {}, got {}", a.layers, layer);
  check(head <= a.heads, "head: expected at most {}, got {}", a.heads, head);
  if (layer == 0 && head == 0) return;
  if (a.reduction.empty()) a.reduction = a.kind + " attention";
  if (layer > 0 && a.layers > 1) a.reduction += fmt::format(", layer {}", layer);
  if (head > 0 && a.heads > 1) a.reduction += fmt::format(", head {}", head);
  a.weights = sliced(a.weights, a, layer, head, a.rows * a.columns);
  a.scores = sliced(a.scores, a, layer, head, a.rows * a.columns);
  a.centers = sliced(a.centers, a, layer, head, a.rows);
  if (layer > 0) a.layers = 1;
  if (head > 0) a.heads = 1;
  a.best = {};
}

// Replaces all layers and heads by one matrix, which has no scores.
void combine(RecordedAttention& a, const Grid& grid) {
  a.weights = grid.weights;
  a.reduction = grid.title;
  a.layers = a.heads = 1;
  a.scores.clear();
  a.centers.clear();
  a.window = 0;
  a.best = {};
}

}  // namespace

void select(AttentionRecord& record, const RecordSelection& selection) {
  const ReduceOptions& o = selection.options;
  check(!o.words, "words: data has the weights between pieces; starts_word of a record says which make up a word");
  const AttentionRecord whole = selection.combined || selection.one_attention ? record : AttentionRecord{};
  if (selection.one_attention) {
    const std::string kind = o.attention == "auto" ? default_attention(record) : o.attention;
    std::erase_if(record.attentions,
                  [&](const RecordedAttention& a) { return a.kind != kind || a.model != o.member - 1; });
    if (record.attentions.empty())
      reduce(whole, {.attention = o.attention, .member = o.member});  // throws an Error that lists what there is
  }
  for (RecordedAttention& a : record.attentions) {
    const bool single = o.heads == "one" || (selects_best(a, o) && a.best.heads == "one");
    if (!selection.combined || single) {
      const bool best = selection.combined && selects_best(a, o);
      slice(a, best ? a.best.layer : o.layer, best ? a.best.head : o.head);
      continue;
    }
    ReduceOptions own = o;
    own.attention = a.kind;
    own.member = a.model + 1;
    combine(a, reduce(whole, own));
  }
}

}  // namespace fovea
