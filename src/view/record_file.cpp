#include "view/record_file.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/lines.h"

namespace fovea {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kConvention =
    "row t of cross and decoder-self is the look that led to target token t; decoder-self column 0 is the begin mark "
    "and column j+1 target token j";
constexpr size_t kMostRecordBytes = 1'000'000'000;

Json token_json(const RecordToken& token) {
  Json json{{"text", token.text}, {"begin", token.begin}, {"end", token.end}, {"starts_word", token.starts_word}};
  if (token.mark) json["mark"] = true;
  return json;
}

Json side_json(const std::string& text, const std::vector<RecordToken>& tokens) {
  Json list = Json::array();
  for (const RecordToken& token : tokens) list.push_back(token_json(token));
  return {{"text", text}, {"tokens", std::move(list)}};
}

Json step_json(const RecordStep& step) {
  Json alternatives = Json::array();
  for (const RecordStep::Alternative& a : step.alternatives) {
    alternatives.push_back({{"text", a.text}, {"log_probability", a.log_probability}});
  }
  return {{"log_probability", step.log_probability}, {"alternatives", std::move(alternatives)}};
}

// Numbers as nested lists of these sizes, written by hand because there are many.
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

std::string attention_json(const RecordedAttention& a) {
  Json head{{"kind", a.kind}, {"mechanism", a.mechanism}, {"scope", a.scope}, {"selection", a.selection}};
  if (a.model > 0) head["model"] = a.model;
  if (!a.best.heads.empty()) {
    head["best_head"] = {{"heads", a.best.heads}, {"layer", a.best.layer}, {"head", a.best.head}};
  }
  if (!a.reduction.empty()) head["reduction"] = a.reduction;
  if (a.window > 0) head["window"] = a.window;
  std::string text = head.dump();
  text.pop_back();
  if (a.window > 0) text += ",\"centers\":" + nested(a.centers, {a.layers, a.heads, a.rows});
  if (!a.scores.empty()) text += ",\"scores\":" + nested(a.scores, {a.layers, a.heads, a.rows, a.columns});
  return text + ",\"weights\":" + nested(a.weights, {a.layers, a.heads, a.rows, a.columns}) + "}";
}

// Reads nested lists of numbers; each list of one depth has as many members.
void read_nested(const Json& json, size_t depth, std::vector<int64_t>& sizes, std::vector<float>& numbers,
                 const std::string& place) {
  if (depth == sizes.size()) {
    check(json.is_number() || json.is_null(), "{}: expected a weight or null, got {}", place, json.dump());
    numbers.push_back(json.is_null() ? std::numeric_limits<float>::quiet_NaN() : json.get<float>());
    return;
  }
  check(json.is_array(), "{}: expected a list of weights, got {}", place, json.type_name());
  const auto count = static_cast<int64_t>(json.size());
  if (sizes[depth] < 0) sizes[depth] = count;
  check(sizes[depth] == count, "{}: expected lists of {} weights, got one of {}", place, sizes[depth], count);
  for (const Json& part : json) read_nested(part, depth + 1, sizes, numbers, place);
}

std::vector<RecordToken> tokens_from(const Json& side) {
  std::vector<RecordToken> tokens;
  for (const Json& t : side.at("tokens")) {
    tokens.push_back({t.at("text"), t.at("begin"), t.at("end"), t.value("starts_word", true), t.value("mark", false)});
  }
  return tokens;
}

RecordStep step_from(const Json& json) {
  RecordStep step{json.at("log_probability"), {}};
  for (const Json& a : json.at("alternatives")) step.alternatives.push_back({a.at("text"), a.at("log_probability")});
  return step;
}

RecordedAttention attention_from(const Json& json, const std::string& place) {
  RecordedAttention a;
  a.kind = json.at("kind");
  a.mechanism = json.at("mechanism");
  a.scope = json.at("scope");
  a.selection = json.at("selection");
  a.model = json.value("model", int64_t{0});
  a.window = json.value("window", int64_t{0});
  if (json.contains("best_head")) {
    const Json& best = json["best_head"];
    a.best = {best.value("heads", std::string("one")), best.at("layer"), best.at("head")};
  }
  a.reduction = json.value("reduction", std::string());
  std::vector<int64_t> sizes(4, -1);
  read_nested(json.at("weights"), 0, sizes, a.weights, place);
  check(sizes[3] > 0, "{}: expected weights of [layer, head, row, column], got none", place);
  a.layers = sizes[0], a.heads = sizes[1], a.rows = sizes[2], a.columns = sizes[3];
  if (json.contains("scores")) read_nested(json["scores"], 0, sizes, a.scores, place);
  if (a.window > 0) {
    std::vector<int64_t> rows = {a.layers, a.heads, a.rows};
    read_nested(json.at("centers"), 0, rows, a.centers, place);
  }
  return a;
}

void check_sizes(const AttentionRecord& record, const std::string& place) {
  const int64_t source = std::ssize(record.source), target = std::ssize(record.target);
  check(record.steps.size() == record.target.size(), "{}: expected a step for each of {} target tokens, got {}", place,
        target, record.steps.size());
  for (const RecordedAttention& a : record.attentions) {
    const int64_t rows = a.kind == "encoder-self" ? source : target,
                  columns = a.kind == "decoder-self" ? target : source;
    check(a.rows == rows && a.columns == columns, "{}: expected {} weights of {} rows and {} columns, got {} and {}",
          place, a.kind, rows, columns, a.rows, a.columns);
  }
}

AttentionRecord record_from(const Json& json, const std::string& place) {
  check(json.is_object() && json.contains("fovea_record"), "{}: expected an attention record, got other JSON", place);
  const auto version = json.at("fovea_record").get<int64_t>();
  check(version == kRecordVersion, "{}: expected a record of version {}, got {}", place, kRecordVersion, version);
  AttentionRecord record;
  record.line = json.value("line", int64_t{0});
  record.rank = json.value("rank", int64_t{1});
  record.architecture = json.at("architecture");
  record.search = json.at("search");
  record.source_text = json.at("source").at("text");
  record.target_text = json.at("target").at("text");
  record.source = tokens_from(json["source"]);
  record.target = tokens_from(json["target"]);
  for (const Json& step : json.at("steps")) record.steps.push_back(step_from(step));
  record.score = json.at("score");
  record.log_probability = json.at("log_probability");
  record.ended = json.at("ended");
  record.cut = json.at("cut");
  for (const Json& a : json.at("attentions")) record.attentions.push_back(attention_from(a, place));
  check_sizes(record, place);
  return record;
}

}  // namespace

std::string to_json(const AttentionRecord& r) {
  Json steps = Json::array();
  for (const RecordStep& step : r.steps) steps.push_back(step_json(step));
  const Json head{{"fovea_record", kRecordVersion},
                  {"line", r.line},
                  {"rank", r.rank},
                  {"architecture", r.architecture},
                  {"search", r.search},
                  {"convention", kConvention},
                  {"source", side_json(r.source_text, r.source)},
                  {"target", side_json(r.target_text, r.target)},
                  {"steps", std::move(steps)},
                  {"score", r.score},
                  {"log_probability", r.log_probability},
                  {"ended", r.ended},
                  {"cut", r.cut}};
  std::string text = head.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();
  text += ",\"attentions\":[";
  for (size_t i = 0; i < r.attentions.size(); ++i) text += (i > 0 ? "," : "") + attention_json(r.attentions[i]);
  return text + "]}";
}

AttentionRecord record_from_json(std::string_view text, const std::string& place) {
  try {
    return record_from(Json::parse(text), place);
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("{}: expected an attention record: {}", place, error.what()));
  }
}

std::vector<AttentionRecord> read_records(const std::string& path) {
  LineReader reader(path, kMostRecordBytes);
  std::vector<AttentionRecord> records;
  for (std::string line; reader.next(line);) {
    if (!line.empty()) records.push_back(record_from_json(line, reader.place()));
  }
  check(!records.empty(), "{}: expected attention records, one a line, got none", path);
  return records;
}

}  // namespace fovea
