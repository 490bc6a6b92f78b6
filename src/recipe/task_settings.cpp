#include "recipe/task_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "evaluate/validation_metrics.h"
#include "models/architectures.h"

namespace fovea {

namespace {

const TaskName* find_task(std::string_view task) {
  const auto* found =
      std::find_if(kTaskNames.begin(), kTaskNames.end(), [&](const TaskName& t) { return t.name == task; });
  return found == kTaskNames.end() ? nullptr : found;
}

// Settings of the data, the decoder, its loss and its search. A section ends with a point.
constexpr std::string_view kOfDecoding[] = {"data.generator",
                                            "data.generated",
                                            "data.generated_valid",
                                            "data.shared_vocabulary",
                                            "data.alignment",
                                            "data.max_target",
                                            "data.max_ratio",
                                            "target_vocabulary.",
                                            "model.architecture",
                                            "model.decoder_layers",
                                            "model.input_feeding",
                                            "model.context_gate",
                                            "model.tie_embeddings",
                                            "model.copy",
                                            "model.attention.",
                                            "batch.reverse_source",
                                            "training.extend_vocabulary",
                                            "training.guided_alignment",
                                            "training.doubly_stochastic",
                                            "training.coverage_loss",
                                            "training.baseline_decay",
                                            "training.shortlist",
                                            "validation.sentences",
                                            "validation.tokenizer",
                                            "validation.search."};
constexpr std::string_view kOfRecurrentEncoders[] = {"model.hidden", "model.cell", "model.bidirectional",
                                                     "model.residual"};
constexpr std::string_view kOfTransformerEncoders[] = {"model.feed_forward", "model.norm",    "model.activation",
                                                       "model.positions",    "model.longest", "model.self_attention."};

// Attention flow has recurrent layers above any encoder.
constexpr std::string_view kOfModellingLayers[] = {"model.hidden", "model.cell"};
constexpr std::string_view kUnusedByCaption[] = {"data.generator",
                                                 "data.generated",
                                                 "data.generated_valid",
                                                 "data.held_out",
                                                 "data.shared_vocabulary",
                                                 "data.split_identifiers",
                                                 "data.hide_copied",
                                                 "data.max_source",
                                                 "data.max_ratio",
                                                 "data.truncate",
                                                 "data.drop_duplicates",
                                                 "data.sampling",
                                                 "source_vocabulary.",
                                                 "model.encoder",
                                                 "model.encoder_layers",
                                                 "model.bidirectional",
                                                 "model.copy",
                                                 "batch.end_source",
                                                 "batch.reverse_source",
                                                 "training.shortlist",
                                                 "training.extend_vocabulary",
                                                 "validation.tokenizer"};
constexpr std::string_view kUnusedByImageClasses[] = {"data.generator",
                                                      "data.generated",
                                                      "data.generated_valid",
                                                      "data.shared_vocabulary",
                                                      "data.split_identifiers",
                                                      "data.hide_copied",
                                                      "data.alignment",
                                                      "data.max_source",
                                                      "data.max_target",
                                                      "data.max_ratio",
                                                      "data.truncate",
                                                      "data.sampling",
                                                      "source_vocabulary.",
                                                      "target_vocabulary.",
                                                      "model.",
                                                      "batch.tokens",
                                                      "batch.end_source",
                                                      "batch.reverse_source",
                                                      "classify.word_dropout",
                                                      "training.guided_alignment",
                                                      "training.doubly_stochastic",
                                                      "training.extend_vocabulary",
                                                      "training.coverage_loss",
                                                      "training.baseline_decay",
                                                      "training.shortlist",
                                                      "validation.sentences",
                                                      "validation.tokenizer",
                                                      "validation.search."};
constexpr std::string_view kUnusedByAnswer[] = {"data.max_source", "data.drop_duplicates", "data.sampling",
                                                "training.label_smoothing"};

bool is_among(std::string_view key, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return name.ends_with('.') ? key.starts_with(name) : key == name; });
}

std::string text_to_text_tasks() {
  std::string names;
  for (const TaskName& task : kTaskNames) {
    if (task.text_to_text) names += (names.empty() ? "" : " or ") + std::string(task.name);
  }
  return "task = " + names;
}

}  // namespace

std::vector<std::string> all_metric_names() {
  std::vector<std::string> all = validation_metric_names();
  for (const auto& names : {classification_metric_names(), answer_metric_names(), caption_metric_names()}) {
    for (const std::string& name : names) {
      if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
    }
  }
  return all;
}

std::vector<std::string> metrics_of_task(std::string_view task) {
  const TaskName* known = find_task(task);
  if (known == nullptr) return all_metric_names();
  if (task == "answer") return answer_metric_names();
  if (task == "caption") return caption_metric_names();
  const bool classes = task == "classify" || task == "classify-images";
  return classes ? classification_metric_names() : validation_metric_names();
}

void limit_to_task(Fields& fields, const Recipe& recipe) {
  const TaskName* task = find_task(recipe.task);
  if (task == nullptr) return;
  const auto leave_out = [&](std::span<const std::string_view> unused) {
    for (const Field& field : fields.list()) {
      if (!is_among(field.key(), unused)) continue;
      fields.find(field.key()).has_no_effect(fmt::format("the task {} does not use it", task->name));
    }
  };
  if (task->name == "caption") {
    leave_out(kUnusedByCaption);
  } else if (task->name == "classify-images") {
    leave_out(kUnusedByImageClasses);
  } else {
    for (const std::string_view key : {"data.images", "data.features"}) {
      fields.find(key).needs(false, "task = caption or classify-images");
    }
  }
  if (task->name != "classify") {
    for (const std::string_view key : {"data.embeddings", "training.freeze_embeddings"}) {
      fields.find(key).needs(false, "task = classify");
    }
  }
  if (task->text_to_text || task->name == "caption" || task->name == "classify-images") return;
  if (recipe.task == "answer") {
    for (const std::string_view key : kUnusedByAnswer)
      fields.find(key).has_no_effect("the task answer does not use it");
  }
  const EncoderEntry* encoder =
      find_entry(text_encoders(), recipe.model.encoder.empty() ? "recurrent" : recipe.model.encoder);
  const auto encoders = [](bool EncoderEntry::*uses) {
    return "model.encoder = " + names_with(text_encoders(), [uses](const EncoderEntry& e) { return e.*uses; });
  };
  for (const Field& field : fields.list()) {
    const std::string& key = field.key();
    const bool decoding = is_among(key, kOfDecoding) && !(recipe.task == "answer" && key == "validation.sentences");
    const bool modelling = recipe.task == "answer" && !recipe.answer.joint() && is_among(key, kOfModellingLayers);
    const bool recurrent = !modelling && is_among(key, kOfRecurrentEncoders),
               transformer = is_among(key, kOfTransformerEncoders);
    if (!decoding && !recurrent && !transformer) continue;
    Field& limited = fields.find(key);
    limited.needs(!decoding, text_to_text_tasks());
    if (encoder == nullptr) continue;
    limited.needs(!recurrent || encoder->recurrent, encoders(&EncoderEntry::recurrent));
    limited.needs(!transformer || encoder->self_attention, encoders(&EncoderEntry::self_attention));
  }
}

}  // namespace fovea
