#include "evaluate/captions.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "evaluate/caption_words.h"
#include "evaluate/cider.h"
#include "evaluate/ngrams.h"

namespace fovea {

namespace {

struct WordSegment {
  CaptionWords hypothesis;
  ImageCaptions references;
};

// BLEU-n from the counts. The two constants of coco-caption prevent a division by zero.
std::array<double, kBleuOrder> bleu_scores(std::span<const WordSegment> segments) {
  constexpr double kTiny = 1e-15, kSmall = 1e-9;
  std::vector<Segment> lines;
  for (const WordSegment& segment : segments) {
    Segment& line = lines.emplace_back();
    line.hypothesis = fmt::format("{}", fmt::join(segment.hypothesis, " "));
    for (const CaptionWords& words : segment.references) {
      line.references.push_back(fmt::format("{}", fmt::join(words, " ")));
    }
  }
  const BleuScore counts = corpus_bleu(lines, {.tokenizer = Tokenizer::kNone, .smoothing = Smoothing::kNone});
  const double ratio =
      (static_cast<double>(counts.hypothesis_length) + kTiny) / (static_cast<double>(counts.reference_length) + kSmall);
  const double penalty = ratio < 1 ? std::exp(1 - 1 / ratio) : 1;
  std::array<double, kBleuOrder> scores;
  double product = 1;
  for (size_t n = 0; n < kBleuOrder; ++n) {
    product *= (static_cast<double>(counts.matches[n]) + kTiny) / (static_cast<double>(counts.totals[n]) + kSmall);
    scores[n] = penalty * std::pow(product, 1 / static_cast<double>(n + 1));
  }
  return scores;
}

double rouge_l(const WordSegment& segment) {
  constexpr double kBeta2 = 1.2 * 1.2;
  SymbolTable<std::string> symbols;
  const std::u32string hypothesis = symbols.encode(segment.hypothesis);
  double precision = 0, recall = 0;
  for (const CaptionWords& words : segment.references) {
    const std::u32string reference = symbols.encode(words);
    const auto common = static_cast<double>(common_subsequence(hypothesis, reference));
    if (common == 0) continue;
    precision = std::max(precision, common / static_cast<double>(hypothesis.size()));
    recall = std::max(recall, common / static_cast<double>(reference.size()));
  }
  return precision == 0 ? 0 : (1 + kBeta2) * precision * recall / (recall + kBeta2 * precision);
}

double mean_cider(std::span<const WordSegment> segments, std::span<const std::vector<std::string>> documents) {
  std::vector<ImageCaptions> references, others;
  for (const WordSegment& segment : segments) references.push_back(segment.references);
  for (const std::vector<std::string>& captions : documents) others.push_back(image_captions(captions));
  const CiderScorer scorer(references, others.empty() ? references : others);
  double sum = 0;
  for (size_t i = 0; i < segments.size(); ++i) sum += scorer.score(i, segments[i].hypothesis);
  return sum / static_cast<double>(segments.size());
}

}  // namespace

std::string CaptionScore::line() const {
  return fmt::format("BLEU-1/2/3/4 = {:.2f}/{:.2f}/{:.2f}/{:.2f}  ROUGE-L = {:.2f}  CIDEr-D = {:.2f}", bleu[0], bleu[1],
                     bleu[2], bleu[3], rouge_l, cider_d);
}

std::vector<std::string> caption_metrics() { return {"bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider-d"}; }

double CaptionScore::named(std::string_view metric) const {
  const std::vector<std::string> names = caption_metrics();
  const auto found = std::find(names.begin(), names.end(), metric);
  check(found != names.end(), "caption metric: expected one of {}, got {}", fmt::join(names, ", "), metric);
  const auto index = static_cast<size_t>(found - names.begin());
  return index < kBleuOrder ? bleu[index] : index == kBleuOrder ? rouge_l : cider_d;
}

CaptionScore caption_score(std::span<const Segment> segments, std::span<const std::vector<std::string>> documents) {
  check_segments("captions", segments);
  std::vector<WordSegment> words;
  for (const Segment& segment : segments) {
    words.push_back({caption_words(segment.hypothesis), image_captions(segment.references)});
  }
  CaptionScore score;
  score.bleu = bleu_scores(words);
  for (double& bleu : score.bleu) bleu *= 100;
  for (const WordSegment& segment : words) score.rouge_l += rouge_l(segment);
  score.rouge_l *= 100 / static_cast<double>(words.size());
  score.cider_d = 100 * mean_cider(words, documents);
  return score;
}

}  // namespace fovea
