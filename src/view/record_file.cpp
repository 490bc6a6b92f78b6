#include "view/record_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <ranges>

#include "base/error.h"
#include "base/json.h"
#include "text/lines.h"
#include "text/utf8.h"
#include "view/compact_weights.h"
#include "view/record_image.h"

namespace fovea {

namespace {

// A line of this size has about 25 million weights as decimal numbers; parsing it takes a few gigabytes.
constexpr size_t kMaxRecordBytes = 256'000'000;
constexpr int64_t kMaxLayers = 10'000, kMaxCount = 1'000'000'000;
constexpr float kRounding = 1e-3f;  // the rounding error by which weights may lie outside 0 to 1

// Reads nested lists of numbers; all lists of one depth must have the same length.
void read_nested(const Json& json, size_t depth, std::vector<int64_t>& sizes, std::vector<float>& numbers) {
  if (depth == sizes.size()) {
    check(json.is_number() || json.is_null(), "expected a weight or null, got {}", brief_value(json));
    numbers.push_back(json.is_null() ? std::numeric_limits<float>::quiet_NaN() : json.get<float>());
    return;
  }
  check(json.is_array(), "expected a list of weights, got {}", brief_value(json));
  const auto count = static_cast<int64_t>(json.size());
  if (sizes[depth] < 0) sizes[depth] = count;
  check(sizes[depth] == count, "expected lists of {} weights, got one of {}", sizes[depth], count);
  for (const Json& part : json) read_nested(part, depth + 1, sizes, numbers);
}

// JSON has no infinity: the log-probability of something impossible is written as null.
double log_probability_from(const Json& json, const char* key = "log_probability") {
  const Json& value = json.at(key);
  return value.is_null() ? -std::numeric_limits<double>::infinity() : value.get<double>();
}

const Json& list_from(const Json& json, const char* key) {
  const Json& list = json.at(key);
  check(list.is_array(), "expected {} to be a list, got {}", key, brief_value(list));
  return list;
}

std::vector<RecordToken> tokens_from(const Json& side) {
  const int64_t length = count_code_points(side.at("text").get_ref<const std::string&>());
  std::vector<RecordToken> tokens;
  for (const Json& t : list_from(side, "tokens")) {
    const int64_t begin = whole_number(t, "begin", 0, length);
    tokens.push_back({t.at("text"), begin, whole_number(t, "end", begin, length), t.value("starts_word", true),
                      t.value("mark", false), t.value("unknown", false)});
  }
  return tokens;
}

RecordStep step_from(const Json& json) {
  RecordStep step{log_probability_from(json), {}, {}};
  if (json.contains("copy_probability")) {
    const double p = json.at("copy_probability");
    check(p >= 0 && p <= 1, "copy_probability: expected a number from 0 to 1, got {}", p);
    step.copy_probability = p;
  }
  for (const Json& a : list_from(json, "alternatives"))
    step.alternatives.push_back({a.at("text"), log_probability_from(a)});
  return step;
}

// The lengths of the axes of a record's attentions.
struct AxisSizes {
  int64_t source = 0, target = 0;
  bool image = false;
};

void check_size(const RecordedAttention& a, const AxisSizes& sizes) {
  const AttentionKindEntry* kind = find_attention_kind(a.kind);
  check(kind != nullptr, "expected an attention of kind {}, got \"{}\"",
        fmt::join(attention_kinds() | std::views::transform(&AttentionKindEntry::name), ", "), brief(a.kind));
  const auto size = [&](AttentionAxis axis) { return axis == AttentionAxis::kSource ? sizes.source : sizes.target; };
  check(!a.sentinel || (sizes.image && kind->rows == AttentionAxis::kTarget && kind->columns == AttentionAxis::kSource),
        "sentinel: expected an attention from the target to a picture, got {}", a.kind);
  const int64_t rows = a.row_labels.empty() ? size(kind->rows) : std::ssize(a.row_labels),
                columns = size(kind->columns) + (a.sentinel ? 1 : 0);
  check(a.rows == rows && a.columns == columns, "expected {} weights of {} rows and {} columns, got {} and {}", a.kind,
        rows, columns, a.rows, a.columns);
}

// A best_head without "heads" is one head.
BestHeads best_from(const Json& json, const RecordedAttention& a) {
  BestHeads best{json.value("heads", std::string("one")), 0, 0, json.value("step", std::string())};
  const bool one = best.heads == "one";
  check(one || best.heads == "mean" || best.heads == "max" || best.heads == "rollout",
        "expected heads of best_head to be one, mean, max or rollout, got \"{}\"", brief(best.heads));
  best.layer = whole_number(json, "layer", one ? 1 : 0, a.layers);
  best.head = whole_number(json, "head", one ? 1 : 0, a.heads);
  return best;
}

RecordedAttention attention_from(const Json& json, const AxisSizes& sizes_of_axes) {
  RecordedAttention a;
  a.kind = json.at("kind");
  a.mechanism = json.at("mechanism");
  a.scope = json.at("scope");
  a.selection = json.at("selection");
  if (json.contains("row_labels")) {
    for (const Json& label : list_from(json, "row_labels")) a.row_labels.push_back(label);
  }
  a.model = whole_number(json, "model", 0, kMaxLayers, 0);
  a.window = whole_number(json, "window", 0, kMaxCount, 0);
  a.sentinel = json.value("sentinel", false);
  if (json.contains("packed")) {
    const Json& shape = json.at("shape");
    check(shape.is_array() && shape.size() == 4, "expected a shape [layers, heads, rows, columns]");
    int64_t* const sizes[] = {&a.layers, &a.heads, &a.rows, &a.columns};
    for (size_t i = 0; i < 4; ++i)
      *sizes[i] = whole_number({{"shape", shape[i]}}, "shape", 1, i < 2 ? kMaxLayers : kMaxCount);
    check_size(a, sizes_of_axes);
    unpack_weights(json["packed"].get_ref<const std::string&>(), a);
  } else {
    std::vector<int64_t> sizes(4, -1);
    read_nested(json.at("weights"), 0, sizes, a.weights);
    for (const float w : a.weights) {
      check(!(w < -kRounding || w > 1 + kRounding), "expected weights from 0 to 1, got {}", w);
    }
    check(sizes[3] > 0, "expected weights of [layer, head, row, column], got none");
    a.layers = sizes[0], a.heads = sizes[1], a.rows = sizes[2], a.columns = sizes[3];
    check_size(a, sizes_of_axes);
  }
  if (json.contains("best_head")) {
    a.best = best_from(json["best_head"], a);
  }
  a.reduction = json.value("reduction", std::string());
  if (json.contains("scores")) {
    std::vector<int64_t> sizes = {a.layers, a.heads, a.rows, a.columns};
    read_nested(json["scores"], 0, sizes, a.scores);
  }
  if (a.window > 0) {
    std::vector<int64_t> rows = {a.layers, a.heads, a.rows};
    read_nested(json.at("centers"), 0, rows, a.centers);
    for (const float c : a.centers) check(std::isfinite(c), "expected a number for each of the centers");
  }
  return a;
}

double probability_from(const Json& json) {
  const double probability = json.at("probability").get<double>();
  check(probability >= 0 && probability <= 1 + kRounding, "expected a probability from 0 to 1, got {}", probability);
  return probability;
}

RecordAnswer answer_from(const Json& json, int64_t length) {
  const int64_t begin = whole_number(json, "begin", 0, length);
  return {json.at("text"), begin, whole_number(json, "end", begin, length), probability_from(json)};
}

AttentionRecord record_from(const Json& json) {
  check(json.is_object() && json.contains("fovea_record"), "expected an attention record, got other JSON");
  const Json& version = json["fovea_record"];
  check(version == kRecordVersion, "expected a record of version {}, got {}", kRecordVersion, brief_value(version));
  check(!json.contains("shares"),
        "expected a record on its own, got one that leaves out what it shares with another candidate; ask for it "
        "with \"attention\": true");
  AttentionRecord record;
  record.line = whole_number(json, "line", 0, kMaxCount, 0);
  record.rank = whole_number(json, "rank", 1, kMaxCount, 1);
  record.task = json.value("task", std::string());
  record.architecture = json.at("architecture");
  record.search = json.at("search");
  record.source_text = json.at("source").at("text");
  record.target_text = json.at("target").at("text");
  record.source = tokens_from(json["source"]);
  record.target = tokens_from(json["target"]);
  for (const Json& step : list_from(json, "steps")) record.steps.push_back(step_from(step));
  check(record.steps.size() == record.target.size() || record.steps.empty(),
        "expected a step for each of {} target tokens, got {}", record.target.size(), record.steps.size());
  record.score = log_probability_from(json, "score");
  record.log_probability = log_probability_from(json);
  record.ended = json.at("ended");
  record.truncated = json.at("cut");
  if (json.contains("classes")) {
    for (const Json& c : list_from(json, "classes")) {
      record.classes.push_back({c.at("label"), probability_from(c)});
    }
  }
  if (json.contains("answer")) record.answer = answer_from(json["answer"], count_code_points(record.source_text));
  if (json.contains("image")) {
    record.image = image_from_json(json["image"]);
    check(record.source.empty() && record.source_text.empty(), "image: expected no text in source beside it, got {}",
          brief_value(json["source"]["text"]));
  }
  const AxisSizes sizes{record.image ? record.image->cells() : std::ssize(record.source), std::ssize(record.target),
                        record.image.has_value()};
  for (const Json& a : list_from(json, "attentions")) record.attentions.push_back(attention_from(a, sizes));
  return record;
}

}  // namespace

AttentionRecord record_from_json(std::string_view text, const std::string& place) {
  const Json json = parse_json(text, place);
  try {
    return record_from(json);
  } catch (const Json::exception& error) {
    fail("{}: expected an attention record: {}", place, error.what());
  } catch (const Error& error) {
    fail("{}: {}", place, error.what());
  }
}

std::vector<AttentionRecord> read_records(const std::string& path) {
  LineReader reader(path, kMaxRecordBytes);
  std::vector<AttentionRecord> records;
  for (std::string line; reader.next(line);) {
    if (!line.empty()) records.push_back(record_from_json(line, reader.place()));
  }
  check(!records.empty(), "{}: expected attention records, one a line, got none", path);
  return records;
}

}  // namespace fovea
