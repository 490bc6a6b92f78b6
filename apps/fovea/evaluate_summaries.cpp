#include "fovea/evaluate_summaries.h"

#include <fmt/format.h>

#include "evaluate/diversity.h"
#include "evaluate/rouge.h"
#include "text/sentences.h"

namespace fovea::app {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const RougeScore& score) {
  return {{"rouge-1", score.rouge1}, {"rouge-2", score.rouge2}, {"rouge-l", score.rouge_l}};
}

double distinct(std::span<const Segment> segments, size_t n) {
  std::vector<std::string> lines;
  for (const Segment& segment : segments) lines.push_back(segment.hypothesis);
  return distinct_ngrams(lines, n);
}

}  // namespace

std::vector<Segment> lead_segments(std::span<const std::string> sources, std::span<const Segment> segments,
                                   int64_t sentences) {
  std::vector<Segment> lead;
  for (size_t i = 0; i < sources.size(); ++i) {
    lead.push_back({std::string(lead_sentences(sources[i], sentences)), segments[i].references});
  }
  return lead;
}

std::vector<Metric> rouge_metrics() {
  return {{"ROUGE-1", [](std::span<const Segment> s) { return corpus_rouge(s).rouge1; }},
          {"ROUGE-2", [](std::span<const Segment> s) { return corpus_rouge(s).rouge2; }},
          {"ROUGE-L", [](std::span<const Segment> s) { return corpus_rouge(s).rouge_l; }}};
}

Json rouge_json(std::span<const Segment> segments) {
  Json json = json_of(corpus_rouge(segments));
  json["stemmed"] = json_of(corpus_rouge(segments, {.stem = true}));
  return json;
}

std::string rouge_line(std::span<const Segment> segments) {
  const RougeScore stemmed = corpus_rouge(segments, {.stem = true});
  return fmt::format("{} (stemmed {:.2f} / {:.2f} / {:.2f})", corpus_rouge(segments).line(), stemmed.rouge1,
                     stemmed.rouge2, stemmed.rouge_l);
}

std::vector<Metric> distinct_metrics() {
  return {{"distinct-1", [](std::span<const Segment> s) { return distinct(s, 1); }},
          {"distinct-2", [](std::span<const Segment> s) { return distinct(s, 2); }}};
}

Json distinct_json(std::span<const Segment> segments) {
  return {{"distinct-1", distinct(segments, 1)}, {"distinct-2", distinct(segments, 2)}};
}

std::string distinct_line(std::span<const Segment> segments) {
  return fmt::format("distinct-1 / 2 = {:.2f} / {:.2f}", distinct(segments, 1), distinct(segments, 2));
}

}  // namespace fovea::app
