#include "fovea/serve/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/base64.h"
#include "base/thousands.h"
#include "decode/options.h"
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

// The records of a sentence's candidates. In the compact form, later ones refer to the equal parts of earlier ones.
std::vector<std::string> records_of(const Hosted& model, const Job& job, size_t i, Attention attention) {
  std::vector<AttentionRecord> records;
  std::vector<std::string> texts;
  for (const Translation::Candidate& c : job.translate().translations[i].candidates) {
    AttentionRecord record = whole_record(model, *job.sources[i], c.hypothesis, search_name(job.translate().search));
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

std::string translation_json(const Hosted& model, const Job& job, size_t i, Attention attention) {
  const Translation& translation = job.translate().translations[i];
  const std::vector<std::string> records =
      attention == Attention::kNone ? std::vector<std::string>() : records_of(model, job, i, attention);
  std::string candidates;
  for (size_t n = 0; n < translation.candidates.size(); ++n) {
    const Translation::Candidate& c = translation.candidates[n];
    std::string json = dump({{"text", c.text},
                             {"score", c.hypothesis.score},
                             {"log_probability", c.hypothesis.log_probability},
                             {"ended", c.hypothesis.finished}});
    if (!records.empty()) json = with_member(std::move(json), "record", records[n]);
    candidates += (n > 0 ? "," : "") + json;
  }
  std::string json = with_member(dump({{"text", translation.text()}}), "candidates", "[" + candidates + "]");
  json = with_member(std::move(json), "cut", translation.truncated ? "true" : "false");
  json = with_member(std::move(json), "source_tokens", std::to_string(translation.source_tokens));
  const Job::Translate& request = job.translate();
  if (request.wants_tree && !request.trees[i].nodes.empty()) {
    json =
        with_member(std::move(json), "tree",
                    dump(tree_json(request.trees[i],
                                   ExtendedVocabulary(model.translator().model().target, job.sources[i]->copied.words),
                                   attention == Attention::kCompact)));
  }
  return json;
}

}  // namespace

void check_encoder_weights(const Job& job, const Hosted& model, Attention attention) {
  const auto* translate = std::get_if<Job::Translate>(&job.kind);
  const int64_t candidates = attention == Attention::kCompact || translate == nullptr ? 1 : translate->search.nbest;
  int64_t cells = 0, maps = 0;  // a map is one head of one layer
  for (const SharedLine& line : job.sources) {
    const int64_t tokens = std::min(std::ssize(line->ids), model.translator().max_source()) + 1;
    cells += tokens * tokens;
  }
  for (const AttentionInfo& a : model.translator().model().model->attentions()) {
    if (a.kind == AttentionKind::kEncoderSelf) maps += a.layers * a.config.heads;
  }
  check_size(cells * maps * candidates, attention, "weights of encoder self-attention");
}

std::string translations_json(const Hosted& model, const Job& job, Attention attention, double milliseconds) {
  int64_t weights = 0;
  for (const Translation& translation : job.translate().translations) {
    for (const Translation::Candidate& c : translation.candidates) weights += weights_of(c.hypothesis);
  }
  if (attention != Attention::kNone) check_size(weights, attention, "attention weights");
  std::string list;
  for (size_t i = 0; i < job.translate().translations.size(); ++i) {
    list += (i > 0 ? "," : "") + translation_json(model, job, i, attention);
    if (std::ssize(list) > kMostAnswerBytes) {
      throw too_large(
          fmt::format("The answer takes more than {} MB. Ask for fewer texts, candidates (nbest) or "
                      "alternatives.",
                      kMostAnswerBytes / 1'000'000));
    }
  }
  std::string json = with_member("{}", "translations", "[" + list + "]");
  json = with_member(std::move(json), "model", dump(model.name()));
  return with_member(std::move(json), "milliseconds", fmt::format("{:.2f}", milliseconds));
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
