#include "evaluate/validation_metrics.h"

#include "base/error.h"
#include "evaluate/bleu.h"
#include "evaluate/captions.h"
#include "evaluate/chrf.h"
#include "evaluate/edit.h"
#include "evaluate/rouge.h"
#include "evaluate/slots.h"

namespace fovea {

std::vector<std::string> validation_metric_names() {
  return {"loss", "bleu", "chrf", "exact", "wer", "slots", "rouge-1", "rouge-2", "rouge-l"};
}
std::vector<std::string> classification_metric_names() { return {"loss", "accuracy", "macro-f1"}; }
std::vector<std::string> answer_metric_names() { return {"loss", "exact", "f1"}; }

std::vector<std::string> caption_metric_names() {
  std::vector<std::string> names = caption_metrics();
  names.insert(names.begin(), {"loss", "exact"});
  return names;
}

bool higher_is_better(std::string_view metric) { return metric != "loss" && metric != "wer"; }

double validation_score(std::string_view metric, std::span<const Segment> segments, std::string_view tokenizer) {
  if (metric == "bleu") return corpus_bleu(segments, {.tokenizer = tokenizer_named(tokenizer)}).score;
  if (metric == "chrf") return corpus_chrf(segments).score;
  if (metric == "exact") return exact_match(segments);
  if (metric == "wer") return word_error_rate(segments).percent();
  if (metric == "slots") return slot_score(segments).values.f1();
  if (metric == "rouge-1") return corpus_rouge(segments).rouge1;
  if (metric == "rouge-2") return corpus_rouge(segments).rouge2;
  if (metric == "rouge-l") return corpus_rouge(segments).rouge_l;
  fail("validation.metric: expected bleu, chrf, exact, wer, slots, rouge-1, rouge-2 or rouge-l, got {}", metric);
}

}  // namespace fovea
