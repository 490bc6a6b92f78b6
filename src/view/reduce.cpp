#include "view/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "attention/registry.h"
#include "base/error.h"
#include "text/utf8.h"

namespace fovea {

void ReduceOptions::describe(Fields& f) {
  std::vector<std::string> kinds = {"auto"};
  for (const AttentionKindEntry& kind : attention_kinds()) kinds.emplace_back(kind.name);
  f.add("attention", attention, "Attention to show; auto is cross, or the first that the model has.")
      .choices(std::move(kinds));
  f.add("heads", heads,
        "How to combine heads and layers into one matrix: mean, max, one (the head given by `layer` and `head`), "
        "rollout (Abnar & Zuidema 2020), best (what aligned words best when that was measured), or auto (best where it "
        "was measured and no layer is chosen, else mean).")
      .choices({"auto", "mean", "max", "one", "rollout", "best"});
  f.add("layer", layer, "Show only this layer, counted from 1; 0 for all.").at_least(0);
  f.add("head", head, "With heads one, and in data (json, npy, npz, safetensors): only this head, counted from 1.")
      .at_least(0);
  f.add("words", words, "Merge subword tokens into words: source columns are summed, target rows averaged.");
  f.add("member", member, "Ensembles: the model to show, counted from 1.").at_least(1);
  f.add("step", step,
        "The step of decoding whose cross attention belongs to a target token: output, the one that predicted it; "
        "input, the one after it, which reads it (Chen et al. 2020: aligns better with a transformer); auto: what was "
        "measured as best where that is shown, else output.")
      .choices({"auto", "output", "input"});
}

namespace {

const RecordedAttention& find_attention(const AttentionRecord& record, const std::string& asked, int64_t model) {
  const std::string kind = asked == "auto" ? default_attention(record) : asked;
  std::string there;
  for (const RecordedAttention& a : record.attentions) {
    if (a.kind == kind && a.model == model - 1) return a;
    if (a.model == model - 1) there += (there.empty() ? "" : ", ") + a.kind;
  }
  check(!record.attentions.empty(), "attention: {} has no attention to show", record.architecture);
  fail("attention: the record has no {} of model {}; it has: {}", kind, model, there.empty() ? "none" : there);
}

// Replaces heads "best" and "auto" by what the record says they are.
ReduceOptions resolved(const RecordedAttention& a, ReduceOptions o) {
  if (!selects_best(a, o)) {
    if (o.heads == "auto") o.heads = "mean";
    return o;
  }
  check(!a.best.heads.empty(),
        "heads: best was not measured; fovea evaluate --alignment GOLD --store-best measures it for a model");
  o.heads = a.best.heads, o.layer = a.best.layer, o.head = a.best.head;
  return o;
}

// Half-open ranges of layers and heads, counted from 0.
struct Range {
  int64_t first_layer, last_layer, first_head, last_head;
  int64_t count() const { return (last_layer - first_layer) * (last_head - first_head); }
};

Range range_of(const RecordedAttention& a, const ReduceOptions& o) {
  check(o.head == 0 || o.heads == "one", "head: needs heads one, got heads {}", o.heads);
  int64_t layer = o.layer, head = 0;
  if (o.heads == "one") {
    check(o.head > 0, "head: choose a head from 1 to {}", a.heads);
    check(layer > 0 || a.layers == 1, "layer: choose a layer from 1 to {}", a.layers);
    layer = std::max<int64_t>(layer, 1);
    head = o.head;
  }
  check(layer <= a.layers, "layer: expected at most {}, got {}", a.layers, layer);
  check(head <= a.heads, "head: expected at most {}, got {}", a.heads, head);
  return {layer > 0 ? layer - 1 : 0, layer > 0 ? layer : a.layers, head > 0 ? head - 1 : 0, head > 0 ? head : a.heads};
}

std::string plural(int64_t count, std::string_view what) {
  return count == 1 ? fmt::format("1 {}", what) : fmt::format("{} {}s", count, what);
}

std::string title_of(const RecordedAttention& a, const ReduceOptions& o, const Range& range) {
  std::string text = a.reduction.empty() ? a.kind + " attention" : a.reduction;
  if (a.layers == 1 && a.heads == 1) return text;
  const bool one_layer = range.last_layer - range.first_layer == 1, one_head = range.last_head - range.first_head == 1;
  if (one_layer && a.layers > 1) text += fmt::format(", layer {}", range.first_layer + 1);
  if (o.heads == "one") return a.heads > 1 ? text + fmt::format(", head {}", range.first_head + 1) : text;
  if (one_layer && one_head) return text;
  std::string of;
  if (!one_head) of = plural(range.last_head - range.first_head, "head");
  if (!one_layer) of += (of.empty() ? "" : " of ") + plural(range.last_layer - range.first_layer, "layer");
  return fmt::format("{}, {} of {}", text, o.heads, of);
}

// The mean or the maximum of some heads, [rows, columns]. A cell that is absent in some of them counts as 0 there.
std::vector<float> combine(const RecordedAttention& a, const Range& range, bool largest) {
  std::vector<float> result(static_cast<size_t>(a.rows * a.columns), kAbsent);
  for (int64_t layer = range.first_layer; layer < range.last_layer; ++layer) {
    for (int64_t head = range.first_head; head < range.last_head; ++head) {
      const float* from = a.row(layer, head, 0);
      for (float& cell : result) {
        const float weight = *from++;
        if (is_absent(weight)) continue;
        const float before = is_absent(cell) ? 0.0f : cell;
        cell = largest ? std::max(before, weight) : before + weight;
      }
    }
  }
  if (!largest) {
    for (float& cell : result) cell /= static_cast<float>(range.count());
  }
  return result;
}

// The matrix product of a [n,k] and b [k,m]; an absent cell is 0.
std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, int64_t n, int64_t k, int64_t m) {
  std::vector<float> result(static_cast<size_t>(n * m));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      const float x = a[static_cast<size_t>(i * k + j)];
      if (is_absent(x) || x == 0.0f) continue;
      for (int64_t l = 0; l < m; ++l) {
        const float y = b[static_cast<size_t>(j * m + l)];
        if (!is_absent(y)) result[static_cast<size_t>(i * m + l)] += x * y;
      }
    }
  }
  return result;
}

// Abnar & Zuidema 2020: the product over layers of (A + I) / 2, A the mean of the heads.
std::vector<float> rollout(const RecordedAttention& a) {
  std::vector<float> result;
  for (int64_t layer = 0; layer < a.layers; ++layer) {
    std::vector<float> mixed = combine(a, {layer, layer + 1, 0, a.heads}, false);
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t j = 0; j < a.columns; ++j) {
        float& cell = mixed[static_cast<size_t>(i * a.columns + j)];
        if (!is_absent(cell)) cell = cell / 2.0f + (i == j ? 0.5f : 0.0f);
      }
    }
    result = result.empty() ? mixed : product(mixed, result, a.rows, a.rows, a.columns);
  }
  return result;
}

// Gives every row the weights of the step after it, which reads its token. The last token is read by no step.
void shift_to_input_step(std::vector<float>& weights, int64_t columns) {
  if (weights.empty()) return;
  weights.insert(weights.end(), weights.end() - columns, weights.end());
  weights.erase(weights.begin(), weights.begin() + columns);
}

// Rolls self-attention out through its own layers, and cross attention through the layers of the encoder.
Grid rolled_out(const AttentionRecord& record, const RecordedAttention& a, const ReduceOptions& o) {
  Grid grid;
  if (a.kind != "cross") {
    const AttentionKindEntry* kind = find_attention_kind(a.kind);
    check(kind != nullptr && (kind->columns == kind->rows || kind->columns == AttentionAxis::kTargetInputs),
          "heads: expected self-attention or cross attention for rollout, got {}", a.kind);
    grid.weights = rollout(a);
    grid.title = fmt::format("{} attention, rollout through {}, mean of heads", a.kind, plural(a.layers, "layer"));
    return grid;
  }
  const RecordedAttention& encoder = find_attention(record, "encoder-self", o.member);
  check(!a.sentinel, "heads: expected cross attention without a sentinel for rollout");
  const Range range = range_of(a, {.layer = o.layer});
  grid.weights = product(combine(a, range, false), rollout(encoder), a.rows, a.columns, encoder.columns);
  grid.title = fmt::format("{}, then rollout through the encoder's {}", title_of(a, {.heads = "mean"}, range),
                           plural(encoder.layers, "layer"));
  return grid;
}

// The labels of a grid's rows or columns: one for each token, or one for each word.
struct AxisLabels {
  std::vector<Label> labels;
  std::vector<int64_t> label_of_token;  // the label that each token belongs to
};

std::string characters(std::string_view text, int64_t begin, int64_t end) {
  int64_t i = 0;
  std::string part;
  for (const CodePoint& c : code_points(text)) {
    if (i >= begin && i < end) part += text.substr(c.begin, c.end - c.begin);
    ++i;
  }
  return part;
}

AxisLabels labels_of(const std::vector<RecordToken>& tokens, const std::string& text, bool words) {
  AxisLabels axis;
  int64_t word_begin = 0, end = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const RecordToken& t = tokens[i];
    const bool starts_label = !words || i == 0 || t.starts_word || t.mark || tokens[i - 1].mark;
    if (starts_label) {
      axis.labels.push_back({t.text, i > 0 && t.begin > end, t.mark});
      word_begin = t.begin;
    } else if (t.end > word_begin) {
      axis.labels.back().text = characters(text, word_begin, t.end);
    }
    axis.label_of_token.push_back(std::ssize(axis.labels) - 1);
    end = std::max(end, t.end);
  }
  return axis;
}

// The inputs of the decoder, which are its outputs shifted right: <s>, then every token but the last.
AxisLabels shifted_right(AxisLabels axis) {
  if (axis.labels.empty()) return axis;
  for (int64_t& label : axis.label_of_token) ++label;
  axis.label_of_token.insert(axis.label_of_token.begin(), 0);
  axis.label_of_token.pop_back();
  axis.labels.insert(axis.labels.begin(), Label{"<s>", false, true});
  axis.labels.resize(static_cast<size_t>(axis.label_of_token.back()) + 1);
  return axis;
}

AxisLabels named_rows(const std::vector<std::string>& names) {
  AxisLabels axis;
  for (const std::string& name : names) {
    axis.label_of_token.push_back(std::ssize(axis.labels));
    axis.labels.push_back({name, true, false});
  }
  return axis;
}

// The cells of a picture, each a label of its own, and the sentinel after them.
AxisLabels cells_of(const RecordImage& image, bool sentinel) {
  AxisLabels axis;
  const auto add = [&](std::string name) {
    axis.label_of_token.push_back(std::ssize(axis.labels));
    axis.labels.push_back({std::move(name), false, false});
  };
  for (int64_t row = 1; row <= image.rows; ++row) {
    for (int64_t column = 1; column <= image.columns; ++column) add(fmt::format("row {}, column {}", row, column));
  }
  if (sentinel) add("no place");
  return axis;
}

// Merges subwords into words: columns are summed and rows averaged, so that a row still sums to 1. A word is absent
// from a row where all of its tokens are.
std::vector<float> merge_subwords(const std::vector<float>& weights, const AxisLabels& rows,
                                  const AxisLabels& columns) {
  const size_t width = columns.labels.size();
  std::vector<float> merged(rows.labels.size() * width, kAbsent);
  std::vector<float> tokens(rows.labels.size());  // of each row's word
  for (const int64_t word : rows.label_of_token) tokens[static_cast<size_t>(word)] += 1.0f;
  const float* weight = weights.data();
  for (const int64_t row : rows.label_of_token) {
    for (const int64_t column : columns.label_of_token) {
      float& cell = merged[static_cast<size_t>(row) * width + static_cast<size_t>(column)];
      if (!is_absent(*weight)) cell = (is_absent(cell) ? 0.0f : cell) + *weight / tokens[static_cast<size_t>(row)];
      ++weight;
    }
  }
  return merged;
}

// The probability of each row's label, and the alternatives at its first token.
std::vector<StepNote> notes_of(const AttentionRecord& record, const AxisLabels& rows) {
  std::vector<StepNote> notes(rows.labels.size(), StepNote{1.0, {}});
  const std::vector<int64_t>& label = rows.label_of_token;
  for (size_t t = 0; t < record.steps.size() && t < label.size(); ++t) {
    StepNote& note = notes[static_cast<size_t>(label[t])];
    note.probability *= std::exp(record.steps[t].log_probability);
    if (t > 0 && label[t] == label[t - 1]) continue;
    for (const auto& a : record.steps[t].alternatives) {
      note.alternatives.emplace_back(a.text, std::exp(a.log_probability));
    }
  }
  return notes;
}

// Adds names, labels and notes to a grid that has only weights between tokens, and merges them into words if asked.
Grid with_labels(Grid grid, const AttentionRecord& record, const RecordedAttention& a, const ReduceOptions& o) {
  const AxisLabels source = record.image ? cells_of(*record.image, a.sentinel)
                                         : labels_of(record.source, record.source_text, o.words),
                   target = labels_of(record.target, record.target_text, o.words);
  const AttentionKindEntry* kind = find_attention_kind(a.kind);
  check(kind != nullptr, "attention: unknown kind {}", a.kind);
  const auto labels = [&](AttentionAxis axis) {
    return axis == AttentionAxis::kSource ? source : axis == AttentionAxis::kTarget ? target : shifted_right(target);
  };
  const AxisLabels rows = a.row_labels.empty() ? labels(kind->rows) : named_rows(a.row_labels);
  const AxisLabels columns = labels(kind->columns);
  const bool reads_passage = record.answer.has_value();
  const auto name = [&](AttentionAxis axis) {
    if (axis == AttentionAxis::kTargetInputs) return "written before";
    if (axis == AttentionAxis::kSource) return record.image ? "picture" : reads_passage ? "passage" : "source";
    return reads_passage ? "question" : "target";
  };
  grid.row_name = a.row_labels.empty() ? name(kind->rows) : a.kind;
  grid.column_name = name(kind->columns);
  grid.named_rows = !a.row_labels.empty();
  const SelectionEntry* selection = find_entry(selections(), a.selection);
  grid.hard = selection != nullptr && selection->hard;
  if (record.image && kind->columns == AttentionAxis::kSource) {
    grid.image = std::make_shared<const RecordImage>(*record.image);
  }
  if (a.row_labels.empty() && kind->rows == AttentionAxis::kTarget && !record.steps.empty()) {
    grid.notes = notes_of(record, rows);
  }
  if (o.words) {
    grid.title += ", by words";
    grid.weights = merge_subwords(grid.weights, rows, columns);
  }
  grid.rows = rows.labels;
  grid.columns = columns.labels;
  return grid;
}

}  // namespace

std::string default_attention(const AttentionRecord& record) {
  for (const RecordedAttention& a : record.attentions) {
    if (a.kind == "cross") return a.kind;
  }
  return record.attentions.empty() ? "cross" : record.attentions.front().kind;
}

bool selects_best(const RecordedAttention& attention, const ReduceOptions& options) {
  if (options.heads != "auto") return options.heads == "best";
  return !attention.best.heads.empty() && options.layer == 0 && options.head == 0;
}

bool shows_input_step(const RecordedAttention& attention, const ReduceOptions& options) {
  if (attention.kind != "cross" || !attention.row_labels.empty()) return false;
  return options.step == "input" ||
         (options.step == "auto" && selects_best(attention, options) && attention.best.step == "input");
}

Grid normalise_rows(Grid grid) {
  const auto width = grid.width();
  for (auto row = grid.weights.begin(); row != grid.weights.end(); row += width) {
    float largest = 0;
    std::for_each(row, row + width, [&](float weight) { largest = weight > largest ? weight : largest; });
    if (largest > 0) std::for_each(row, row + width, [&](float& weight) { weight /= largest; });
  }
  grid.title += ", each row relative to its largest weight";
  return grid;
}

Grid reduce(const AttentionRecord& record, const ReduceOptions& asked) {
  const RecordedAttention& a = find_attention(record, asked.attention, asked.member);
  const ReduceOptions options = resolved(a, asked);
  Grid grid;
  if (options.heads == "rollout") {
    grid = rolled_out(record, a, options);
  } else {
    const Range range = range_of(a, options);
    grid.weights = combine(a, range, options.heads == "max");
    grid.title = title_of(a, options, range);
  }
  if (shows_input_step(a, asked)) {
    shift_to_input_step(grid.weights, std::ssize(grid.weights) / std::max<int64_t>(1, a.rows));
    grid.title += ", at the step that reads each token";
  }
  if (selects_best(a, asked)) grid.title += " (the best by measured AER)";
  return with_labels(std::move(grid), record, a, options);
}

std::vector<Grid> every_head(const AttentionRecord& record, const ReduceOptions& options) {
  const RecordedAttention& a = find_attention(record, options.attention, options.member);
  std::vector<Grid> grids;
  for (int64_t layer = 1; layer <= a.layers; ++layer) {
    for (int64_t head = 1; head <= a.heads; ++head) {
      ReduceOptions one = options;
      one.heads = "one", one.layer = layer, one.head = head;
      grids.push_back(reduce(record, one));
    }
  }
  return grids;
}

int64_t heads_of(const AttentionRecord& record, const ReduceOptions& options) {
  return find_attention(record, options.attention, options.member).heads;
}

}  // namespace fovea
