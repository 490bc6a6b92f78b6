#include "recipe/recipe.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "decode/options.h"
#include "evaluate/tokenize.h"
#include "evaluate/validation_metrics.h"
#include "models/model.h"
#include "recipe/pretrained.h"
#include "recipe/run_folder.h"
#include "recipe/task_settings.h"
#include "recipe/toml_fields.h"
#include "text/generators.h"

namespace fovea {

std::vector<std::string> schedule_names() { return {"constant", "inverse-sqrt", "cosine", "plateau"}; }

void DataConfig::describe(Fields& f) {
  const bool generates = !generator.empty();
  f.add("train", train,
        "Training text: one TSV file, or a source file and a target file, or several of these corpora, whose TSV files "
        "then end in .tsv; of a dialogue also files of JSON lines, "
        "{\"turns\": [{\"speaker\": ..., \"text\": ...}, ...]}; classify: TSV or CSV files with labels and texts; "
        "answer: "
        "JSON files; caption: TSV files of a picture's name and a caption; classify-images: folders with a folder of "
        "pictures for each label, or TSV or CSV files of a label and a picture's name. Plain or gzip.")
      .also_called({"train_set", "train_sets", "train_data", "corpus", "files"});
  const bool several = !generates && (train.size() > 2 || mixes_corpora());
  f.add(
       "weights", weights,
       "With several corpora in train: a number for each, in proportion to which an epoch has pairs of them; empty for "
       "the corpora as they are. An epoch has as many pairs as all corpora together.")
      .also_called({"sampling_weights", "corpus_weights", "weight", "upsample"});
  f.add("temperature", temperature,
        "With several corpora and without weights: an epoch has pairs of a corpus in proportion to its size ^ (1 / "
        "temperature), so that large values even the corpora out.")
      .at_least(0.01)
      .also_called({"sampling_temperature"})
      .needs(weights.empty(), "no " + f.key("weights"));
  for (const char* key : {"weights", "temperature"}) f.find(f.key(key)).needs(several, "several corpora in data.train");
  f.add("images", images, "Folder of the pictures that files of captions or labels name.")
      .also_called({"image_folder", "pictures"});
  f.add("features", features,
        "File for the features that a frozen network gives of the pictures, which are computed once and may serve "
        "several runs; empty for one in the run's folder.");
  f.add("valid", valid, "Validation text, in the same form as train.")
      .also_called({"validation", "dev", "valid_sets", "valid_data", "val"});
  std::vector<std::string> names = {""};
  for (const Generator& g : generators()) names.emplace_back(g.name);
  f.add("generator", generator, "Generate the text of a toy task instead of reading files.")
      .choices(std::move(names))
      .also_called({"task"});
  f.add("generated", generated, "Number of training pairs to generate.")
      .at_least(1)
      .needs(generates, f.key("generator"));
  f.add("generated_valid", generated_valid,
        "Number of validation pairs to generate; none of them is in the training set.")
      .at_least(1)
      .needs(generates, f.key("generator"));
  f.add("held_out", held_out, "Without valid: number of training pairs to hold out for validation, at most a tenth.")
      .at_least(1)
      .needs(!generates && valid.empty(), fmt::format("{} without {}", f.key("train"), f.key("valid")));
  f.add("shared_vocabulary", shared_vocabulary, "Use one vocabulary for both sides, described by source_vocabulary.")
      .also_called({"joint_vocabulary", "shared_vocab", "share_vocab"});
  f.add("split_identifiers", split_identifiers,
        "Read identifiers in the source as words, cityServed as city served, in training and later.");
  f.add("hide_copied", hide_copied,
        "Mean rate at which words that a pair has on both sides are hidden from a model that copies, which then must "
        "copy "
        "them as unknown words. Drawn anew in every epoch.")
      .at_least(0)
      .at_most(1);
  f.add("alignment", alignment,
        "For guided_alignment, word alignments of train in Pharaoh format (0-0 1-2 ...); of captions, boxes of phrases "
        "in JSON lines, as fovea evaluate --boxes reads them.");
  f.add("embeddings", embeddings,
        "Pretrained word vectors that the source embeddings start from, in the text format of word2vec or GloVe.")
      .also_called({"pretrained_embeddings", "embedding_file", "glove", "word2vec", "pretrained"});
  filter.describe(f);
}

namespace {

bool has_both_sides(std::string_view file) {
  if (file.ends_with(".gz")) file.remove_suffix(3);
  return file.ends_with(".tsv") || file.ends_with(".jsonl");
}

}  // namespace

std::vector<std::vector<std::string>> corpora_of(const std::vector<std::string>& files, std::string_view key) {
  if (files.size() == 1) return {files};
  std::vector<std::vector<std::string>> corpora;
  for (size_t i = 0; i < files.size(); ++i) {
    if (has_both_sides(files[i])) {
      corpora.push_back({files[i]});
      continue;
    }
    check(i + 1 < files.size() && !has_both_sides(files[i + 1]),
          "{}: expected a target file after {}; of several corpora, files with both sides must end in .tsv", key,
          files[i]);
    corpora.push_back({files[i], files[i + 1]});
    ++i;
  }
  return corpora;
}

std::vector<double> DataConfig::corpus_weights() const {
  std::vector<double> numbers;
  for (const std::string& text : weights) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    check(error == std::errc() && end == text.data() + text.size() && number > 0 && std::isfinite(number),
          "data.weights: expected numbers above 0, got {}", text);
    numbers.push_back(number);
  }
  return numbers;
}

void VocabularyConfig::describe(Fields& f) {
  VocabularyOptions::describe(f);
  for (const char* key :
       {"kind", "size", "min_count", "coverage", "byte_fallback", "normalisation", "lowercase", "symbols"}) {
    if (!model.empty()) f.find(f.key(key)).has_no_effect(fmt::format("{} names a vocabulary", f.key("model")));
  }
  f.add("model", model,
        "A SentencePiece model of your own, unigram or bpe, instead of a vocabulary that is trained. Its padding, "
        "unknown "
        "token and marks of begin and end become the first four tokens.")
      .also_called({"path", "file", "vocab", "sp_model", "spm", "subword_model", "voc_file"});
}

void DialogueConfig::describe(Fields& f) {
  format.describe(f);
  f.add("replies_of", replies_of,
        "With JSON lines of turns: learn only the replies of this speaker; empty for those of every speaker.")
      .also_called({"respondent", "assistant", "role"});
}

void TrainingConfig::describe(Fields& f) {
  const bool sgd = optimiser == "sgd";
  const std::string need_adam = f.key("optimiser") + " = adam or adamw", scheduled = f.key("schedule");
  f.add("optimiser", optimiser, "Optimiser.").choices({"sgd", "adam", "adamw"}).also_called({"optimizer", "optim"});
  f.add("learning_rate", learning_rate, "Peak learning rate.").at_least(0).also_called({"lr", "learn_rate", "rate"});
  f.add("schedule", schedule, "Learning rate schedule after warmup.")
      .choices(schedule_names())
      .also_called({"scheduler", "lr_schedule", "lr_scheduler"});
  f.add("warmup", warmup, "Warmup steps, over which the learning rate rises linearly from 0.")
      .at_least(0)
      .also_called({"warmup_steps", "lr_warmup", "warmup_updates"});
  f.add("final_rate", final_rate, "cosine: final learning rate, as a fraction of learning_rate.")
      .at_least(0)
      .at_most(1)
      .also_called({"min_lr", "final_lr"})
      .needs(schedule == "cosine", scheduled + " = cosine");
  f.add("plateau_factor", plateau_factor, "plateau: factor that the learning rate is multiplied by.")
      .at_least(0)
      .below(1)
      .also_called({"factor", "lr_decay"})
      .needs(schedule == "plateau", scheduled + " = plateau");
  f.add("plateau_patience", plateau_patience,
        "plateau: validations without improvement before the learning rate drops.")
      .at_least(1)
      .needs(schedule == "plateau", scheduled + " = plateau");
  f.add("clip_norm", clip_norm, "Gradients with a larger norm are scaled down to this norm; 0 to disable.")
      .at_least(0)
      .also_called({"clip", "grad_clip", "gradient_clip", "clip_grad", "clip_grad_norm", "max_grad_norm"});
  f.add("weight_decay", weight_decay, "Weight decay of weight matrices; decoupled with adamw.")
      .at_least(0)
      .also_called({"wd", "l2"});
  f.add("momentum", momentum, "sgd: momentum.").at_least(0).below(1).needs(sgd, f.key("optimiser") + " = sgd");
  f.add("beta1", beta1, "adam: decay rate of the first moment.").at_least(0).below(1).needs(!sgd, need_adam);
  f.add("beta2", beta2, "adam: decay rate of the second moment.").at_least(0).below(1).needs(!sgd, need_adam);
  f.add("epsilon", epsilon, "adam: term added to the denominator for numerical stability.")
      .at_least(0)
      .also_called({"eps", "adam_eps"})
      .needs(!sgd, need_adam);
  f.add("label_smoothing", label_smoothing,
        "Label smoothing: probability mass spread over the whole vocabulary, or over all classes.")
      .at_least(0)
      .below(1);
  f.add("accumulation", accumulation, "Gradient accumulation: number of batches per step.")
      .at_least(1)
      .also_called({"gradient_accumulation", "gradient_accumulation_steps", "grad_accum", "accum", "update_freq"});
  f.add("memory", memory,
        "Memory limit for a batch in GB; 0 for all there is. A batch that needs more is processed in parts, with the "
        "same result.")
      .at_least(0)
      .also_called({"workspace", "max_memory"});
  f.add("ema", ema,
        "Decay of the exponential moving average of the weights, which is validated and saved; 0 to disable.")
      .at_least(0)
      .below(1)
      .also_called({"ema_decay", "exponential_smoothing"});
  f.add("precision", precision,
        "Precision of matrix products; auto: bf16 on a GPU, on a CPU the faster one of f32 and bf16; bf16 needs "
        "instructions for it.")
      .choices({"auto", "f32", "bf16"})
      .also_called({"dtype", "fp16", "amp", "bf16"});
  f.add("pretrained", pretrained,
        "Start from a trained model: its folder, or the name of a shipped model. The settings of the model that the "
        "recipe does not name are its settings, parameters of the same name and shape have its weights, and its "
        "vocabularies are used.")
      .also_called({"init_from", "finetune", "load_model", "start_from", "train_from", "pretrained_model"});
  f.add(
       "extend_vocabulary", extend_vocabulary,
       "Number of pieces, at most, that each vocabulary of the pretrained model gets from data.train, where they occur "
       "at least twice. A new piece starts as the mean of the pieces that it is made of, or of all; what the model "
       "knew "
       "stays.")
      .at_least(0)
      .needs(!pretrained.empty(), f.key("pretrained"));
  f.add("tensorboard", tensorboard, "Also write the numbers of metrics.jsonl as event files of TensorBoard.");
  f.add("epochs", epochs, "Stop after this many epochs; 0 for no limit.")
      .at_least(0)
      .also_called({"max_epochs", "num_epochs", "after_epochs"});
  f.add("steps", steps, "Stop after this many steps; 0 for no limit.")
      .at_least(0)
      .also_called({"max_steps", "max_updates", "updates", "num_steps", "train_steps", "after_batches"});
  f.add("minutes", minutes, "Stop after this many minutes of training, resumed runs included; 0 for no limit.")
      .at_least(0);
  f.add("checkpoint_minutes", checkpoint_minutes, "Minutes between checkpoints; each validation saves one too.")
      .at_least(0)
      .also_called({"save_freq", "save_every", "checkpoint_every"});
  f.add("freeze_embeddings", freeze_embeddings, "Do not train the source embeddings.")
      .also_called({"freeze", "static_embeddings"});
  f.add("guided_alignment", guided_alignment,
        "Weight of the guided alignment loss, which pulls attention towards data.alignment.")
      .at_least(0);
  const bool guided = guided_alignment > 0;
  const char* need_guided = "training.guided_alignment above 0";
  f.add("guided_step", guided_step,
        "The step whose attention is guided: output, the one that predicts the aligned token (Chen et al. 2016); "
        "input, the one after it, which reads it and aligns better (Chen et al. 2020).")
      .choices({"output", "input"})
      .needs(guided, need_guided);
  f.add("guided_layer", guided_layer, "The decoder layer whose attention is guided, counted from 1; 0 for the last.")
      .at_least(0)
      .needs(guided, need_guided);
  f.add("guided_head", guided_head, "The head that is guided, counted from 1; 0 for the mean of all heads.")
      .at_least(0)
      .needs(guided, need_guided);
  f.add("coverage_loss", coverage_loss,
        "Weight of the coverage loss, which penalises attending to the same position again (See et al. 2017).")
      .at_least(0);
  f.add(
       "doubly_stochastic", doubly_stochastic,
       "Weight of the doubly stochastic penalty, by which attention looks at every position about once in all: the sum "
       "over positions of (1 - the weight they received)^2 (Xu et al. 2015, section 4.2.1).")
      .at_least(0);
  f.add("baseline_decay", baseline_decay,
        "Hard selection with reinforce: decay of the moving average used as the baseline.")
      .at_least(0)
      .below(1);
  f.add("self_critical", self_critical,
        "Learns from captions that the model samples: the more their CIDEr-D exceeds that of its greedy caption, the "
        "more likely they become (Rennie et al. 2017). A second stage, after training.pretrained.")
      .also_called({"scst", "self_critical_after"});
  f.add(
       "shortlist", shortlist,
       "Estimate a shortlist of target words from the training text, with which the model decodes by default on a CPU, "
       "as `fovea shortlist --store` does.")
      .also_called({"lexical_table", "lex"});
}

void ValidationConfig::describe(Fields& f) {
  const bool decodes = metric != "loss";
  const std::string need_decoding = f.key("metric") + " other than loss";
  f.add("every", every, "Steps between validations; 0 to validate after every epoch.")
      .at_least(0)
      .also_called({"freq", "frequency", "interval", "eval_steps", "valid_freq"});
  f.add("metric", metric, "Metric that decides which model is best.")
      .choices(all_metric_names())
      .also_called({"metrics"});
  f.add("sentences", sentences, "Number of validation sentences to translate for the metric; 0 for all.")
      .at_least(0)
      .needs(decodes, need_decoding);
  f.add("tokenizer", tokenizer, "Tokenizer for BLEU.")
      .choices(tokenizer_names())
      .also_called({"tokeniser"})
      .needs(metric == "bleu", f.key("metric") + " = bleu");
  f.add("patience", patience, "Early stopping: stop after this many validations without improvement; 0 to disable.")
      .at_least(0)
      .also_called({"early_stopping"});
  f.add("goal", goal, "Stop once the metric reaches this value; 0 to disable.").at_least(0);
  f.section("search", search).needs(decodes, need_decoding);
  f.find(f.key("search.nbest")).has_no_effect("validation scores only the best hypothesis");
}

void TrainedVisionConfig::describe(Fields& f) {
  VisionConfig::describe(f);
  f.section("augment", augment).needs(!frozen, f.key("frozen") + " = false, because features are computed once");
}

void ClassifyConfig::describe(Fields& f) {
  ClassifierConfig::describe(f);
  f.add("penalty", penalty, "structured: weight of the penalty ||A A^T - I||^2, which asks the hops to differ.")
      .at_least(0)
      .also_called({"penalization", "penalization_coeff"})
      .needs(has("structured"), f.key("pooling") + " = structured");
  f.add("class_weights", class_weights,
        "Weights of the classes in the loss: none, or balanced, inversely proportional to their frequency.")
      .choices({"none", "balanced"})
      .also_called({"class_weight"});
  f.add("word_dropout", word_dropout, "Share of the tokens that are replaced by <unk> in training.")
      .at_least(0)
      .below(1)
      .also_called({"token_dropout", "unk_rate"});
  text.describe(f);
}

void Recipe::describe(Fields& f) {
  f.add("folder", folder, "Folder of the run: the model, its checkpoint, metrics.jsonl and recipe.toml.")
      .also_called({"output", "output_dir", "out_dir", "save_dir", "model_dir", "model_folder", "dir"});
  std::vector<std::string> tasks;
  for (const TaskName& entry : kTaskNames) tasks.emplace_back(entry.name);
  // A program that uses the library may train a task of its own, whose name only that program knows.
  if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) tasks.push_back(task);
  f.add("task", task, "What the model learns to do.").choices(std::move(tasks));
  f.add("seed", seed, "Random seed.").at_least(0).also_called({"random_seed"});
  f.add("device", device, "Device: cpu, cuda, cuda:N, or auto (a GPU if there is one).")
      .also_called({"devices", "gpu", "gpus", "cuda", "use_cuda"});
  f.add("threads", threads, "Number of CPU threads; 0 for all cores.")
      .at_least(0)
      .also_called({"num_threads", "cpu_threads", "workers"});
  f.add("report_every", report_every,
        "Steps between lines in metrics.jsonl and, without a terminal, progress lines; 0 for one about every 10 s.")
      .at_least(0)
      .also_called({"log_every", "logging_freq", "disp_freq", "log_interval"});
  f.section("data", data);
  f.section("source_vocabulary", source_vocabulary);
  f.section("target_vocabulary", target_vocabulary).needs(!data.shared_vocabulary, "data.shared_vocabulary = false");
  f.section("dialogue", dialogue).needs(task == "dialogue", "task = dialogue");
  f.section("model", model);
  const bool classifies = task == "classify" || task == "classify-images";
  f.section("vision", vision)
      .needs(task == "caption" || task == "classify-images", "task = caption or classify-images");
  f.section("answer", answer).needs(task == "answer", "task = answer");
  f.section("batch", batch);
  f.section("training", training);
  f.section("validation", validation);
  f.section("classify", classify).needs(classifies, "task = classify or classify-images");

  // What a setting needs from another section.
  const auto subwords = [](const VocabularyOptions& v) { return v.kind == "unigram" || v.kind == "bpe"; };
  f.find("data.sampling")
      .needs(subwords(source_vocabulary) || (!data.shared_vocabulary && subwords(target_vocabulary)),
             "source_vocabulary.kind or target_vocabulary.kind = unigram or bpe");
  f.find("training.coverage_loss")
      .needs(model.has_cross_attention() && model.attention.coverage, "model.attention.coverage = true");
  f.find("training.doubly_stochastic").needs(model.has_cross_attention(), "an architecture that attends");
  f.find("data.hide_copied").needs(model.has_cross_attention() && model.copies(), "model.copy = mixture or pointer");
  f.find("training.label_smoothing")
      .needs(model.copy != "pointer" || !model.has_cross_attention(), "model.copy = none or mixture")
      .needs(!training.self_critical, "training.self_critical = false");
  f.find("training.self_critical").needs(task == "caption", "task = caption");
  f.find("training.baseline_decay")
      .needs(model.uses_reinforce(), "model.attention.selection = hard with model.attention.estimator = reinforce");
  limit_to_task(f, *this);
}

namespace {

// Of a task that learns spans of passages.
void check_answer(const Recipe& r, const std::string& path) {
  check(r.data.generator.empty(), "{}: data.generator: expected data.train (JSON files) for the task {}", path, r.task);
  check(!r.data.train.empty(), "{}: expected data.train, JSON files of passages and questions", path);
  check(r.answer.stride <= r.answer.window, "{}: answer.stride: expected at most answer.window = {}, got {}", path,
        r.answer.window, r.answer.stride);
}

void check_frozen(const Recipe& r, const std::string& path) {
  check(!r.vision.frozen || !r.vision.weights.empty(),
        "{}: vision.weights: expected the weights of a frozen network; or set vision.frozen = false to train it", path);
}

// Of a task that learns captions of pictures.
void check_caption(const Recipe& r, const std::string& path) {
  check(r.data.generator.empty(), "{}: data.generator: expected data.train (captions) for the task {}", path, r.task);
  check(!r.data.train.empty() && !r.data.valid.empty(),
        "{}: expected data.train and data.valid, TSV files of a picture's name and a caption", path);
  check_frozen(r, path);
  check(
      !r.training.self_critical || !r.model.uses_reinforce(),
      "{}: training.self_critical: expected model.attention.selection other than hard with reinforce, whose reward is "
      "another",
      path);
  check(!r.training.self_critical || r.data.alignment.empty(),
        "{}: training.self_critical: expected no data.alignment: captions that the model samples have no boxes", path);
  check(!r.model.copies(), "{}: model.copy: expected none for the task {}: pictures have no words to copy", path,
        r.task);
}

// Of the task that learns classes of pictures.
void check_classify_images(const Recipe& r, const std::string& path) {
  check(r.data.generator.empty(), "{}: data.generator: expected data.train for the task {}, got a generator of pairs",
        path, r.task);
  check(!r.data.train.empty(),
        "{}: expected data.train, a folder with a folder of pictures for each label, or files of labels and names",
        path);
  check(r.batch.sentences > 0, "{}: batch.sentences: expected the number of pictures in a batch, got 0", path);
  check_frozen(r, path);
}

// Of a task that learns classes, not text.
void check_classify(const Recipe& r, const std::string& path) {
  check(r.data.generator.empty(), "{}: data.generator: expected data.train for the task {}, got a generator of pairs",
        path, r.task);
  check(!r.data.train.empty(), "{}: expected data.train, files with labels and texts", path);
}

// Of a task that learns to produce text.
void check_text_to_text(const Recipe& r, const std::string& path) {
  const auto corpora = corpora_of(r.data.train, path + ": data.train");
  corpora_of(r.data.valid, path + ": data.valid");
  check(r.data.weights.empty() || r.data.weights.size() == corpora.size(),
        "{}: data.weights: expected a number for each of the {} corpora of data.train, got {}", path, corpora.size(),
        r.data.weights.size());
  r.data.corpus_weights();
  check(!r.data.generator.empty() || !r.data.train.empty(),
        "{}: expected data.train (files) or data.generator, got neither", path);
  check(r.data.generator.empty() || r.data.train.empty(),
        "{}: expected either data.train (files) or data.generator, got both; --set data.generator= turns the generator "
        "off",
        path);
  check(r.data.generator.empty() || r.data.valid.empty(),
        "{}: data.valid: expected none, because data.generator makes its own validation text", path);
  check(r.dialogue.format.speakers.size() == 2, "{}: dialogue.speakers: expected two marks, got {}", path,
        r.dialogue.format.speakers.size());
  check(!r.data.filter.truncate || r.data.alignment.empty(),
        "{}: data.truncate: expected no data.alignment, whose links reach beyond truncated sources", path);
  check((r.training.guided_alignment > 0) == !r.data.alignment.empty(),
        "{}: expected training.guided_alignment and data.alignment together", path);
  check(r.training.guided_alignment == 0 || r.model.has_cross_attention(),
        "{}: training.guided_alignment: expected model.architecture = {}, got {}, which has no attention", path,
        names_with(architectures(), [](const ArchitectureEntry& e) { return e.cross_attention; }),
        r.model.architecture);
  check(r.training.guided_head <= r.model.attention.heads,
        "{}: training.guided_head: expected at most model.attention.heads = {}, got {}", path, r.model.attention.heads,
        r.training.guided_head);
  try {
    check_options(r.validation.search);
  } catch (const Error& error) {
    fail("{}: validation.search.{}", path, error.what());
  }
}

void check_recipe(const Recipe& r, const std::string& path) {
  for (const auto& [side, vocabulary] : {std::pair("source", &r.source_vocabulary), {"target", &r.target_vocabulary}}) {
    check(vocabulary->model.empty() || r.training.pretrained.empty(),
          "{}: {}_vocabulary.model: expected none with training.pretrained, whose vocabularies are used", path, side);
  }
  if (r.task == "classify") {
    check_classify(r, path);
  } else if (r.task == "classify-images") {
    check_classify_images(r, path);
  } else if (r.task == "answer") {
    check_answer(r, path);
  } else if (r.task == "caption") {
    check_caption(r, path);
  } else {
    check_text_to_text(r, path);
  }
  const std::vector<std::string> metrics = metrics_of_task(r.task);
  check(std::find(metrics.begin(), metrics.end(), r.validation.metric) != metrics.end(),
        "{}: validation.metric: expected one of {} for the task {}, got {}", path, fmt::join(metrics, ", "), r.task,
        r.validation.metric);
  check(r.batch.tokens > 0 || r.batch.sentences > 0, "{}: expected batch.tokens or batch.sentences above 0", path);
  const TrainingConfig& t = r.training;
  check(t.epochs > 0 || t.steps > 0 || t.minutes > 0 || r.validation.patience > 0 || r.validation.goal > 0,
        "{}: expected a stopping criterion: training.epochs, training.steps, training.minutes, validation.patience or "
        "validation.goal",
        path);
  check(t.schedule != "cosine" || t.steps > 0 || t.epochs > 0 || t.minutes > 0,
        "{}: training.schedule: the cosine schedule needs training.steps, training.epochs or training.minutes", path);
}

}  // namespace

Recipe read_recipe(const std::string& path, std::span<const std::string> changes, std::vector<std::string>* warnings) {
  Recipe recipe;
  Fields fields = fields_of(recipe);
  const std::map<std::string, int64_t> lines = fields_from_toml(fields, path);
  std::map<std::string, std::string> places;  // where each chosen setting was set
  const std::string run = run_of_recipe(path);
  if (!run.empty()) relocate(recipe, run);
  // A run's recipe.toml sets every key that the version had which wrote it.
  const bool complete = !run.empty() || lines.size() == fields.list().size();
  for (const auto& [key, line] : lines) {
    if (!complete) places[key] = fmt::format("{}:{}", path, line);
  }
  for (const std::string& change : changes) {
    const size_t equals = change.find('=');
    check(equals != std::string::npos, "--set {}: expected KEY=VALUE, as in --set training.steps=1000", change);
    places[change.substr(0, equals)] = "--set " + change;
    try {
      fields.find(change.substr(0, equals)).set_text(std::string_view(change).substr(equals + 1));
    } catch (const Error& error) {
      fail("--set {}: {}", change, error.what());
    }
  }
  // A complete recipe has what it took over from the pretrained model, which need not exist any more.
  if (!recipe.training.pretrained.empty() && (!complete || places.contains("training.pretrained"))) {
    const auto is_named = [&](std::string_view key) { return complete || places.contains(std::string(key)); };
    adopt_pretrained(recipe, is_named, warnings);
  }
  check_recipe(recipe, path);
  if (warnings == nullptr) return recipe;
  std::vector<std::string> named;
  for (const auto& [key, place] : places) named.push_back(key);
  for (const auto& [key, message] : unused_settings(recipe, named)) {
    warnings->push_back(fmt::format("{}: {}", places.contains(key) ? places[key] : path, message));
  }
  return recipe;
}

std::string recipe_text(const Recipe& recipe, bool with_help) {
  Recipe copy = recipe;
  return fields_to_toml(fields_of(copy), with_help);
}

}  // namespace fovea
