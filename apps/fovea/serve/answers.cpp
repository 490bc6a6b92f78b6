#include "fovea/serve/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/base64.h"
#include "base/thousands.h"
#include "decode/options.h"
#include "decode/warnings.h"
#include "store/caption_folder.h"
#include "text/utf8.h"
#include "view/compact_weights.h"
#include "view/record_file.h"

namespace fovea::app {

namespace {

// Bytes that a weight takes at most: "0.012345678," and 4/3 of a byte, with the scale of its row.
double bytes_of_weights(int64_t weights, Attention attention) {
  return static_cast<double>(weights) * (attention == Attention::kCompact ? 1.4 : 12.0);
}

void check_size(int64_t weights, Attention attention, std::string_view what) {
  const double bytes = bytes_of_weights(weights, attention);
  if (bytes <= static_cast<double>(kMostAnswerBytes)) return;
  throw too_large(
      fmt::format("attention: {} {} would take about {:.0f} MB, and an answer may take {} MB. Ask for {}"
                  "shorter texts or fewer candidates (nbest).",
                  thousands(weights), what, bytes / 1e6, kMostAnswerBytes / 1'000'000,
                  attention == Attention::kCompact ? "" : "\"attention\": \"compact\", "));
}

int64_t weights_of(const Hypothesis& hypothesis) {
  int64_t count = 0;
  for (const HypothesisWeights& w : hypothesis.weights) count += std::ssize(w.weights);
  return count;
}

AttentionRecord whole_record(const Hosted& model, const TokenisedLine& source, const Hypothesis& hypothesis,
                             const std::string& search) {
  AttentionRecord record = model.translator().record(source, hypothesis);
  record.task = model.task().task;
  record.search = search;
  return record;
}

Json tree_json(const SearchTree& tree, const Vocabulary& target, bool compact) {
  const auto number = [&](double value) { return compact ? rounded(value) : value; };
  Json nodes = Json::array();
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const SearchTree::Node& n = tree.nodes[i];
    nodes.push_back({{"id", i},
                     {"parent", n.parent < 0 ? Json() : Json(n.parent)},
                     {"text", n.parent < 0 ? "<s>" : token_text(n.id, target)},
                     {"log_probability", number(n.log_prob)},
                     {"total", number(n.total)},
                     {"step", n.step},
                     {"kept", n.in_result},
                     {"ended", n.is_end}});
  }
  return {{"nodes", std::move(nodes)}};
}

Json alternatives_json(const std::vector<RecordStep::Alternative>& alternatives) {
  Json list = Json::array();
  for (const RecordStep::Alternative& a : alternatives) {
    list.push_back({{"text", a.text}, {"log_probability", a.log_probability}});
  }
  return list;
}

Json token_json(const RecordToken& token) {
  Json json{{"text", token.text}, {"begin", token.begin}, {"end", token.end}, {"starts_word", token.starts_word}};
  if (token.mark) json["mark"] = true;
  if (token.unknown) json["unknown"] = true;
  return json;
}

Json rows_json(const std::vector<RecordedAttention>& attentions) {
  Json rows = Json::object();
  for (const RecordedAttention& a : attentions) {
    Json& list = rows[a.kind] = Json::array();
    for (int64_t i = 0; i < a.layers * a.heads; ++i) {
      Json row = Json::array();
      for (int64_t s = 0; s < a.columns; ++s) {
        const float weight = a.weights[static_cast<size_t>(i * a.columns + s)];
        row.push_back(std::isnan(weight) ? Json() : Json(weight));
      }
      list.push_back(std::move(row));
    }
  }
  return rows;
}

// The mean over the heads of an attention with one row. A cell that is absent from every head stays absent.
std::vector<float> mean_row(const RecordedAttention& a) {
  std::vector<float> mean(static_cast<size_t>(a.columns), std::numeric_limits<float>::quiet_NaN());
  const auto heads = static_cast<float>(a.layers * a.heads);
  for (size_t i = 0; i < a.weights.size(); ++i) {
    float& cell = mean[i % mean.size()];
    if (!std::isnan(a.weights[i])) cell = (std::isnan(cell) ? 0.0f : cell) + a.weights[i] / heads;
  }
  return mean;
}

// The text of a JSON object with one member added.
std::string with_member(std::string object, std::string_view name, const std::string& value) {
  object.pop_back();
  return fmt::format("{}{}\"{}\":{}}}", object, object.size() > 1 ? "," : "", name, value);
}

// The records of a result's candidates. In the compact form, later ones refer to the equal parts of earlier ones.
template <class Candidate, class Make>
std::vector<std::string> records_of(const std::vector<Candidate>& candidates, size_t i, Attention attention,
                                    const Make& make) {
  std::vector<AttentionRecord> records;
  std::vector<std::string> texts;
  if (attention == Attention::kNone) return texts;
  for (const Candidate& c : candidates) {
    AttentionRecord record = make(c.hypothesis);
    record.line = static_cast<int64_t>(i) + 1;
    record.rank = std::ssize(texts) + 1;
    if (attention == Attention::kWhole) {
      texts.push_back(to_json(record));
      continue;
    }
    records.push_back(std::move(record));
    texts.push_back(to_compact_json(records.back(), shared_with_earlier(records)));
  }
  return texts;
}

// Adds the candidates of a result with their records.
template <class Candidate>
std::string with_candidates(std::string json, const std::vector<Candidate>& list,
                            const std::vector<std::string>& records) {
  std::string candidates;
  for (size_t n = 0; n < list.size(); ++n) {
    const Candidate& c = list[n];
    std::string candidate = dump({{"text", c.text},
                                  {"score", c.hypothesis.score},
                                  {"log_probability", c.hypothesis.log_probability},
                                  {"ended", c.hypothesis.finished}});
    if (!records.empty()) candidate = with_member(std::move(candidate), "record", records[n]);
    candidates += (n > 0 ? "," : "") + candidate;
  }
  return with_member(std::move(json), "candidates", "[" + candidates + "]");
}

std::string with_tree(std::string json, const Searching& request, size_t i, const Vocabulary& target,
                      Attention attention) {
  if (!request.wants_tree || request.trees[i].nodes.empty()) return json;
  return with_member(std::move(json), "tree",
                     dump(tree_json(request.trees[i], target, attention == Attention::kCompact)));
}

// Adds what a translation and a reply have alike: candidates, sizes, the beam's tree. Source i of the job is text
// `line`, or a part of it.
std::string with_translation(std::string json, const Hosted& model, const Job& job, size_t i, size_t line,
                             Attention attention) {
  const Translation& translation = job.translate().translations[i];
  const auto make = [&](const Hypothesis& hypothesis) {
    return whole_record(model, *job.sources[i], hypothesis, search_name(job.translate().search));
  };
  json = with_candidates(std::move(json), translation.candidates,
                         records_of(translation.candidates, line, attention, make));
  json = with_member(std::move(json), "cut", translation.truncated ? "true" : "false");
  json = with_member(std::move(json), "source_tokens", std::to_string(translation.source_tokens));
  const ExtendedVocabulary target(model.translator().model().target, job.sources[i]->copied.words);
  return with_tree(std::move(json), job.translate(), i, target, attention);
}

// Adds the warnings of so many sources of the job (decode/warnings.h).
std::string with_warnings(std::string json, const Hosted& model, const Job& job, size_t first, size_t count) {
  if (!model.task().between_languages) return json;
  Json list = Json::array();
  for (size_t i = first; i < first + count; ++i) {
    const std::vector<int32_t>& source = job.sources[i]->ids;
    if (source.empty()) continue;
    for (const OutputWarning& w :
         output_warnings(source, job.translate().translations[i].candidates.front().hypothesis)) {
      list.push_back({{"kind", w.kind}, {"message", w.message}});
    }
  }
  return with_member(std::move(json), "warnings", dump(list));
}

// A text that was translated in parts: as a whole, and each part with its place in characters, candidates and records.
std::string split_text_json(const Hosted& model, const Job& job, size_t i, Attention attention) {
  const Job::Translate::Text& text = job.translate().texts[i];
  const Translation whole = job.translate().whole(i);
  std::string json = dump({{"text", whole.text()}});
  if (text.parts.size() == 1 && attention != Attention::kNone) {
    json = with_translation(std::move(json), model, job, text.first, i, attention);
    return with_warnings(std::move(json), model, job, text.first, 1);
  }
  json = with_candidates(std::move(json), whole.candidates, {});
  json = with_member(std::move(json), "cut", whole.truncated ? "true" : "false");
  json = with_member(std::move(json), "source_tokens", std::to_string(whole.source_tokens));
  json = with_warnings(std::move(json), model, job, text.first, text.parts.size());
  if (text.parts.size() == 1) return json;
  std::string parts;
  for (size_t p = 0; p < text.parts.size(); ++p) {
    const auto [begin, end] = text.parts[p];
    const std::string_view source = text.text;
    const Json place{{"text", job.translate().translations[text.first + p].text()},
                     {"begin", count_code_points(source.substr(0, begin))},
                     {"end", count_code_points(source.substr(0, end))}};
    parts += (p > 0 ? "," : "") + with_translation(dump(place), model, job, text.first + p, i, attention);
  }
  return with_member(std::move(json), "parts", "[" + parts + "]");
}

std::string with_model(std::string json, const Hosted& model, double milliseconds) {
  json = with_member(std::move(json), "model", dump(model.name()));
  return with_member(std::move(json), "milliseconds", fmt::format("{:.2f}", milliseconds));
}

// The JSON of `count` results as a list, as long as it fits into an answer.
template <class Write> std::string bounded_list(size_t count, const Write& write) {
  std::string list = "[";
  for (size_t i = 0; i < count; ++i) {
    list += (i > 0 ? "," : "") + write(i);
    if (std::ssize(list) > kMostAnswerBytes) {
      throw too_large(
          fmt::format("The answer takes more than {} MB. Ask for fewer texts, candidates (nbest) or "
                      "alternatives.",
                      kMostAnswerBytes / 1'000'000));
    }
  }
  return list + "]";
}

// Of translations or captions.
void check_weights(const auto& results, Attention attention) {
  int64_t weights = 0;
  for (const auto& result : results) {
    for (const auto& c : result.candidates) weights += weights_of(c.hypothesis);
  }
  if (attention != Attention::kNone) check_size(weights, attention, "attention weights");
}

int64_t weights_of(const std::optional<AttentionRecord>& record) {
  int64_t count = 0;
  if (!record) return count;
  for (const RecordedAttention& a : record->attentions) count += std::ssize(a.weights);
  return count;
}

// Adds the record of result i, if there is one.
std::string with_record(std::string json, std::optional<AttentionRecord> record, size_t i, Attention attention) {
  if (!record) return json;
  record->line = static_cast<int64_t>(i) + 1;
  return with_member(std::move(json), "record",
                     attention == Attention::kCompact ? to_compact_json(*record) : to_json(*record));
}

Json classes_json(const std::vector<ClassProbability>& classes) {
  Json list = Json::array();
  for (const ClassProbability& c : classes) list.push_back({{"label", c.label}, {"probability", c.probability}});
  return list;
}

Json found_json(const fovea::Answer& answer) {
  return {{"text", answer.text},         {"begin", answer.begin},
          {"end", answer.end},           {"begin_byte", answer.begin_byte},
          {"end_byte", answer.end_byte}, {"probability", answer.probability}};
}

}  // namespace

void check_weights_read(const Job& job, const Hosted& model, Attention attention) {
  if (attention == Attention::kNone) return;
  const auto* translate = std::get_if<Job::Translate>(&job.kind);
  const auto* read = std::get_if<Job::Read>(&job.kind);
  // Compact records of further candidates share these weights.
  const int64_t records = attention == Attention::kCompact || translate == nullptr ? 1 : translate->search.nbest;
  int64_t weights = 0;
  for (size_t i = 0; i < job.size(); ++i) {
    const TokenisedLine& source = *job.sources[i];
    const int64_t tokens = source.ids.empty() ? estimated_tokens(source.text) : std::ssize(source.ids) + 1;
    weights += model.weights_read(tokens, read == nullptr ? 0 : estimated_tokens(read->questions[i]));
  }
  check_size(weights * records, attention, read == nullptr ? "weights of encoder self-attention" : "attention weights");
}

std::string translations_json(const Hosted& model, const Job& job, Attention attention, double milliseconds) {
  check_weights(job.translate().translations, attention);
  const Job::Translate& request = job.translate();
  const std::string list = bounded_list(request.size(), [&](size_t i) {
    if (!request.texts.empty()) return split_text_json(model, job, i, attention);
    const std::string json =
        with_translation(dump({{"text", request.translations[i].text()}}), model, job, i, i, attention);
    return with_warnings(json, model, job, i, 1);
  });
  return with_model(with_member("{}", "translations", list), model, milliseconds);
}

std::string chat_json(const Hosted& model, const Job& job, Attention attention, double milliseconds) {
  check_weights(job.translate().translations, attention);
  const std::string json =
      with_translation(dump({{"reply", job.translate().translations[0].text()}}), model, job, 0, 0, attention);
  return with_model(json, model, milliseconds);
}

std::string classifications_json(const Hosted& model, const Job& job, Attention attention, double milliseconds) {
  const std::vector<Classification>& results = job.classify().results;
  int64_t weights = 0;
  for (const Classification& result : results) weights += weights_of(result.record);
  check_size(weights, attention, "attention weights");
  const std::string list = bounded_list(results.size(), [&](size_t i) {
    const Classification& result = results[i];
    return with_record(dump({{"label", result.classes.front().label},
                             {"probability", result.classes.front().probability},
                             {"classes", classes_json(result.classes)},
                             {"truncated", result.truncated}}),
                       result.record, i, attention);
  });
  return with_model(with_member("{}", "classifications", list), model, milliseconds);
}

std::string answers_json(const Hosted& model, const Job& job, Attention attention, double milliseconds) {
  const std::vector<Reading>& results = job.read().results;
  int64_t weights = 0;
  for (const Reading& result : results) weights += weights_of(result.record);
  check_size(weights, attention, "attention weights");
  const std::string list = bounded_list(results.size(), [&](size_t i) {
    const Reading& result = results[i];
    Json json = found_json(result.answers.empty() ? fovea::Answer{} : result.answers.front());
    json["candidates"] = Json::array();
    for (const fovea::Answer& answer : result.answers) json["candidates"].push_back(found_json(answer));
    return with_record(dump(json), result.record, i, attention);
  });
  return with_model(with_member("{}", "answers", list), model, milliseconds);
}

std::string captions_json(const Hosted& model, const Job& job, Attention attention, double milliseconds) {
  const Job::Caption& request = job.caption();
  check_weights(request.captions, attention);
  const std::string list = bounded_list(request.captions.size(), [&](size_t i) {
    const std::vector<Caption::Candidate>& candidates = request.captions[i].candidates;
    const auto make = [&](const Hypothesis& hypothesis) {
      AttentionRecord record = model.captioner().record(request.shown[i], hypothesis);
      record.search = search_name(request.search);
      return record;
    };
    std::string json = with_candidates(dump({{"text", request.captions[i].text()}}), candidates,
                                       records_of(candidates, i, attention, make));
    return with_tree(std::move(json), request, i, *model.captioner().model().loaded.target, attention);
  });
  return with_model(with_member("{}", "captions", list), model, milliseconds);
}

std::string record_json(const Hosted& model, const Job& job, Attention attention) {
  const auto* forced = std::get_if<Job::Score>(&job.kind);
  const Hypothesis& hypothesis =
      forced != nullptr ? forced->scores[0] : job.translate().translations[0].candidates[0].hypothesis;
  check_size(weights_of(hypothesis), attention, "attention weights");
  AttentionRecord record = whole_record(model, *job.sources[0], hypothesis,
                                        forced != nullptr ? "forced" : search_name(job.translate().search));
  record.line = 1;
  return with_member("{}", "record", attention == Attention::kCompact ? to_compact_json(record) : to_json(record));
}

std::string score_json(const Hosted& model, const Job& job) {
  const AttentionRecord record = whole_record(model, *job.sources[0], job.score().scores[0], "forced");
  Json tokens = Json::array();
  for (size_t t = 0; t < record.target.size(); ++t) {
    Json token = token_json(record.target[t]);
    token["log_probability"] = record.steps[t].log_probability;
    token["alternatives"] = alternatives_json(record.steps[t].alternatives);
    tokens.push_back(std::move(token));
  }
  const double mean = record.log_probability / static_cast<double>(std::max<size_t>(1, tokens.size()));
  return dump(
      {{"log_probability", record.log_probability}, {"perplexity", std::exp(-mean)}, {"tokens", std::move(tokens)}});
}

Json source_json(const Hosted& model, const TokenisedLine& source) {
  Json tokens = Json::array();
  for (const RecordToken& token : model.translator().record(source, Hypothesis{}).source) {
    tokens.push_back(token_json(token));
  }
  return {{"text", source.text}, {"tokens", std::move(tokens)}};
}

// A step with the rows of all heads; in a compact stream with their mean, because the record with all rows follows at
// the end.
Json step_json(int64_t place, const RecordedStep& step, Attention attention) {
  Json json = token_json(step.token);
  json["step"] = place;
  if (attention == Attention::kCompact) {
    json["log_probability"] = rounded(step.step.log_probability);
    for (const RecordedAttention& a : step.attentions) {
      if (a.kind == "cross" && a.model == 0) json["cross_mean"] = to_base64(quantised_row(mean_row(a)));
    }
    return json;
  }
  json["log_probability"] = step.step.log_probability;
  json["alternatives"] = alternatives_json(step.step.alternatives);
  if (attention == Attention::kWhole) json["attention"] = rows_json(step.attentions);
  return json;
}

}  // namespace fovea::app
