// Writes attention records as JSON, exact or compact.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/json.h"
#include "view/compact_weights.h"
#include "view/record_file.h"
#include "view/record_image.h"

namespace fovea {

namespace {

constexpr std::string_view kConvention =
    "row t of cross and decoder-self is the look that led to target token t; decoder-self column 0 is the begin mark "
    "and column j+1 target token j";

Json token_json(const RecordToken& token) {
  Json json{{"text", token.text}, {"begin", token.begin}, {"end", token.end}, {"starts_word", token.starts_word}};
  if (token.mark) json["mark"] = true;
  if (token.unknown) json["unknown"] = true;
  return json;
}

Json sentence_json(const std::string& text, std::span<const RecordToken> tokens) {
  Json list = Json::array();
  for (const RecordToken& token : tokens) list.push_back(token_json(token));
  return {{"text", text}, {"tokens", std::move(list)}};
}

// How a record is written: exactly, or compactly without the prefix that it shares.
struct Form {
  bool compact = false;
  Shared shared;
  double number(double value) const { return compact ? rounded(value) : value; }
};

Json step_json(const RecordStep& step, const Form& form) {
  Json alternatives = Json::array();
  for (const RecordStep::Alternative& a : step.alternatives) {
    alternatives.push_back({{"text", a.text}, {"log_probability", form.number(a.log_probability)}});
  }
  Json json{{"log_probability", form.number(step.log_probability)}};
  if (step.copy_probability) json["copy_probability"] = form.number(*step.copy_probability);
  json["alternatives"] = std::move(alternatives);
  return json;
}

// Appends numbers as nested lists of these sizes. Building a Json value of millions of numbers would be slow.
void append_nested(std::string& out, const float*& at, std::span<const int64_t> sizes) {
  if (sizes.empty()) {
    if (std::isnan(*at)) {
      out += "null";
    } else {
      out += fmt::format("{}", *at);
    }
    ++at;
    return;
  }
  out += '[';
  for (int64_t i = 0; i < sizes[0]; ++i) {
    if (i > 0) out += ',';
    append_nested(out, at, sizes.subspan(1));
  }
  out += ']';
}

std::string nested(const std::vector<float>& numbers, const std::vector<int64_t>& sizes) {
  std::string out;
  out.reserve(numbers.size() * 12);
  const float* at = numbers.data();
  append_nested(out, at, sizes);
  return out;
}

// Whether the attention is the same for every output.
bool has_source_rows(const RecordedAttention& a) {
  const AttentionKindEntry* kind = find_attention_kind(a.kind);
  return kind != nullptr && kind->rows == AttentionAxis::kSource && kind->columns == AttentionAxis::kSource;
}

std::string attention_json(const RecordedAttention& a, const Form& form) {
  Json head{{"kind", a.kind}, {"mechanism", a.mechanism}, {"scope", a.scope}, {"selection", a.selection}};
  if (a.model > 0) head["model"] = a.model;
  if (!a.row_labels.empty()) head["row_labels"] = a.row_labels;
  if (!a.best.heads.empty()) {
    head["best_head"] = {{"heads", a.best.heads}, {"layer", a.best.layer}, {"head", a.best.head}};
    if (!a.best.step.empty()) head["best_head"]["step"] = a.best.step;
  }
  if (!a.reduction.empty()) head["reduction"] = a.reduction;
  if (a.window > 0) head["window"] = a.window;
  if (a.sentinel) head["sentinel"] = true;
  if (form.compact) head["shape"] = {a.layers, a.heads, a.rows, a.columns};
  std::string text = head.dump();
  text.pop_back();
  if (a.window > 0) text += ",\"centers\":" + nested(a.centers, {a.layers, a.heads, a.rows});
  if (form.compact) {
    const int64_t first_row = form.shared.rank == 0 ? 0 : has_source_rows(a) ? a.rows : form.shared.rows;
    return text + fmt::format(",\"packed\":\"{}\"}}", pack_weights(a, first_row));
  }
  if (!a.scores.empty()) text += ",\"scores\":" + nested(a.scores, {a.layers, a.heads, a.rows, a.columns});
  return text + ",\"weights\":" + nested(a.weights, {a.layers, a.heads, a.rows, a.columns}) + "}";
}

std::string text_of(const AttentionRecord& r, const Form& form) {
  const auto first = static_cast<size_t>(form.shared.tokens);
  Json steps = Json::array();
  for (size_t t = first; t < r.steps.size(); ++t) steps.push_back(step_json(r.steps[t], form));
  Json head{{"fovea_record", kRecordVersion}, {"line", r.line},     {"rank", r.rank},
            {"architecture", r.architecture}, {"search", r.search}, {"convention", kConvention}};
  if (form.shared.rank > 0) {
    head["shares"] = {{"rank", form.shared.rank}, {"tokens", form.shared.tokens}, {"rows", form.shared.rows}};
  } else {
    head["source"] = sentence_json(r.source_text, r.source);
    if (r.image) head["image"] = image_json(*r.image);
  }
  if (!r.task.empty()) head["task"] = r.task;
  head["target"] = sentence_json(r.target_text, std::span(r.target).subspan(first));
  head["steps"] = std::move(steps);
  head["score"] = form.number(r.score);
  head["log_probability"] = form.number(r.log_probability);
  head["ended"] = r.ended;
  head["cut"] = r.truncated;
  for (const ClassProbability& c : r.classes) {
    head["classes"].push_back({{"label", c.label}, {"probability", form.number(c.probability)}});
  }
  if (r.answer) {
    head["answer"] = {{"text", r.answer->text},
                      {"begin", r.answer->begin},
                      {"end", r.answer->end},
                      {"probability", form.number(r.answer->probability)}};
  }
  std::string text = head.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();
  text += ",\"attentions\":[";
  for (size_t i = 0; i < r.attentions.size(); ++i) text += (i > 0 ? "," : "") + attention_json(r.attentions[i], form);
  return text + "]}";
}

// Whether row t of every head is equal in both. The shorter record has fewer columns in its decoder self-attention; the
// further columns must be absent from the row of the other.
bool same_row(const RecordedAttention& a, const RecordedAttention& b, int64_t t) {
  const int64_t common = std::min(a.columns, b.columns);
  const auto absent = [](float w) { return std::isnan(w); };
  for (int64_t layer = 0; layer < a.layers; ++layer) {
    for (int64_t head = 0; head < a.heads; ++head) {
      const float *x = a.row(layer, head, t), *y = b.row(layer, head, t);
      if (std::memcmp(x, y, static_cast<size_t>(common) * sizeof(float)) != 0) return false;
      if (!std::all_of(x + common, x + a.columns, absent) || !std::all_of(y + common, y + b.columns, absent)) {
        return false;
      }
    }
  }
  return true;
}

bool same_step(const AttentionRecord& a, const AttentionRecord& b, size_t t) {
  const RecordToken &x = a.target[t], &y = b.target[t];
  const RecordStep &p = a.steps[t], &q = b.steps[t];
  const auto same_alternative = [](const RecordStep::Alternative& u, const RecordStep::Alternative& v) {
    return u.text == v.text && u.log_probability == v.log_probability;
  };
  return x.text == y.text && x.begin == y.begin && x.end == y.end && x.starts_word == y.starts_word &&
         x.unknown == y.unknown && p.log_probability == q.log_probability && p.copy_probability == q.copy_probability &&
         std::equal(p.alternatives.begin(), p.alternatives.end(), q.alternatives.begin(), q.alternatives.end(),
                    same_alternative);
}

Shared shared_by(const AttentionRecord& a, const AttentionRecord& b) {
  Shared shared{b.rank, 0, std::min<int64_t>(std::ssize(a.target), std::ssize(b.target))};
  if (a.source_text != b.source_text || a.attentions.size() != b.attentions.size()) return {};
  if (a.image.has_value() != b.image.has_value() || (a.image && a.image->jpeg != b.image->jpeg)) return {};
  while (shared.tokens < shared.rows && same_step(a, b, static_cast<size_t>(shared.tokens))) ++shared.tokens;
  for (size_t i = 0; i < a.attentions.size(); ++i) {
    const RecordedAttention &x = a.attentions[i], &y = b.attentions[i];
    const bool encoder = has_source_rows(x);
    if (x.kind != y.kind || x.layers != y.layers || x.heads != y.heads) return {};
    int64_t rows = 0;
    while (rows < (encoder ? x.rows : shared.rows) && same_row(x, y, rows)) ++rows;
    if (encoder && rows < x.rows) return {};
    if (!encoder) shared.rows = rows;
  }
  return shared;
}

}  // namespace

std::string to_json(const AttentionRecord& record) { return text_of(record, {}); }

std::string to_compact_json(const AttentionRecord& record, const Shared& shared) {
  return text_of(record, {true, shared});
}

Shared shared_with_earlier(std::span<const AttentionRecord> candidates) {
  Shared best;
  for (size_t i = 0; i + 1 < candidates.size(); ++i) {
    const Shared shared = shared_by(candidates.back(), candidates[i]);
    if (shared.rank > 0 && (best.rank == 0 || shared.rows > best.rows)) best = shared;
  }
  return best;
}

}  // namespace fovea
