// Settings that have no effect are reported, and settings that have one are not. The tests cover every key of a recipe.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/threads.h"
#include "models/model.h"
#include "recipe/recipe.h"
#include "store/shipped.h"
#include "support.h"
#include "tasks/sequence_loss.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

using Changes = std::vector<std::string>;

// A setting other than model.*, which the second test covers: changes with which it has no effect, and changes with
// which it has one. A setting without the former always has an effect.
struct Row {
  std::string key;
  Changes unused_with, used_with;
};

const Changes kFiles = {"data.generator=", "data.train=a,b"}, kBleu = {"validation.metric=bleu"},
              kWords = {"source_vocabulary.kind=word", "target_vocabulary.kind=word"},
              kSubwords = {"source_vocabulary.kind=bpe", "target_vocabulary.kind=bpe"},
              kShared = {"data.shared_vocabulary=true"}, kLoss = {"validation.metric=loss"},
              kHard = {"model.attention.selection=hard"};
const Changes kAnswer = {"task=answer", "data.generator=", "data.train=a"},
              kJoint = {"task=answer", "data.generator=", "data.train=a", "answer.interaction=joint"},
              kNoCharacters = {"task=answer", "data.generator=", "data.train=a", "answer.character_filters=0"};
const Changes kNone = {"seed=1"};  // changes nothing
const Changes kCaption = {"task=caption", "data.generator=", "data.train=a", "data.valid=b", "vision.weights=c"};
const Changes kClassify = {"task=classify", "data.generator=", "data.train=a"};

Changes with(Changes changes, const std::string& more) {
  changes.push_back(more);
  return changes;
}

// A folder with the description of a model, for training.pretrained.
std::string some_model() {
  static const TemporaryFolder folder;
  return std::filesystem::path(folder.file("config.json", "{\"model\": {\"embedding\": 48}}")).parent_path();
}

std::vector<Row> rows() {
  std::vector<Row> rows;
  for (const char* key : {"folder",
                          "task",
                          "seed",
                          "device",
                          "threads",
                          "report_every",
                          "data.train",
                          "data.valid",
                          "data.generator",
                          "data.shared_vocabulary",
                          "data.split_identifiers",
                          "data.alignment",
                          "data.max_source",
                          "data.max_target",
                          "data.truncate",
                          "data.max_ratio",
                          "data.drop_duplicates",
                          "source_vocabulary.kind",
                          "source_vocabulary.size",
                          "source_vocabulary.symbols",
                          "batch.tokens",
                          "batch.sentences",
                          "batch.multiple",
                          "batch.reverse_source",
                          "training.optimiser",
                          "training.learning_rate",
                          "training.schedule",
                          "training.warmup",
                          "training.clip_norm",
                          "training.weight_decay",
                          "training.label_smoothing",
                          "training.accumulation",
                          "training.memory",
                          "training.ema",
                          "training.precision",
                          "training.epochs",
                          "training.steps",
                          "training.minutes",
                          "training.checkpoint_minutes",
                          "training.guided_alignment",
                          "training.doubly_stochastic",
                          "training.pretrained",
                          "training.tensorboard",
                          "source_vocabulary.model",
                          "validation.every",
                          "validation.metric",
                          "validation.patience",
                          "validation.goal"}) {
    rows.push_back({key, {}, {}});
  }
  const auto add = [&](const Changes& unused, const Changes& used, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) rows.push_back({key, unused, used});
  };
  add(kFiles, kNone, {"data.generated", "data.generated_valid"});
  add(kNone, kFiles, {"data.held_out"});
  add(kNone, {"data.generator=", "data.train=a.tsv,b.tsv,c.tsv"}, {"data.weights", "data.temperature"});
  add(kNone, {"training.pretrained=" + some_model()}, {"training.extend_vocabulary"});
  add(kNone, {"model.copy=mixture"}, {"data.hide_copied"});
  add(kWords, kSubwords,
      {"data.sampling", "source_vocabulary.coverage", "source_vocabulary.byte_fallback",
       "source_vocabulary.normalisation", "target_vocabulary.coverage", "target_vocabulary.byte_fallback",
       "target_vocabulary.normalisation"});
  add(kSubwords, kWords,
      {"source_vocabulary.min_count", "source_vocabulary.lowercase", "target_vocabulary.min_count",
       "target_vocabulary.lowercase"});
  add(kNone, kClassify,
      {"data.embeddings", "training.freeze_embeddings", "classify.pooling", "classify.pooling_depth",
       "classify.head_hidden", "classify.head_dropout", "classify.class_weights", "classify.word_dropout",
       "classify.label_column", "classify.text_column", "classify.label_separator"});
  add(kClassify, with(kClassify, "classify.pooling=structured"), {"classify.hops", "classify.penalty"});
  add(kClassify, with(kClassify, "classify.label_separator=:"), {"classify.label_part"});
  add(kShared, kNone,
      {"target_vocabulary.kind", "target_vocabulary.size", "target_vocabulary.symbols", "target_vocabulary.model"});
  add(kNone, {"task=dialogue"}, {"dialogue.context_turns", "dialogue.speakers", "dialogue.replies_of"});
  add(kNone, {"training.guided_alignment=1", "data.alignment=links"},
      {"training.guided_step", "training.guided_layer", "training.guided_head"});
  add(kNone, {"training.schedule=cosine"}, {"training.final_rate"});
  add(kNone, {"training.schedule=plateau"}, {"training.plateau_factor", "training.plateau_patience"});
  add(kNone, {"training.optimiser=sgd"}, {"training.momentum"});
  add({"training.optimiser=sgd"}, kNone, {"training.beta1", "training.beta2", "training.epsilon"});
  add(kNone, {"model.attention.coverage=true"}, {"training.coverage_loss"});
  add(kNone, kHard, {"training.baseline_decay"});
  add(kNone, kCaption, {"training.self_critical"});
  add(kCaption, kNone, {"training.shortlist"});
  add(kNone, kCaption,
      {"data.images", "data.features", "vision.network", "vision.size", "vision.layer", "vision.frozen",
       "vision.positions", "vision.depth", "vision.dropout", "vision.nonlocal"});
  add(kNone, {"task=caption", "data.generator=", "data.train=a", "data.valid=b", "vision.frozen=false"},
      {"vision.weights"});
  add(kCaption, with(kCaption, "vision.frozen=false"),
      {"vision.augment.crop", "vision.augment.flip", "vision.augment.colour"});
  add(kNone, kAnswer,
      {"answer.interaction", "answer.window", "answer.stride", "answer.max_answer", "answer.max_question",
       "answer.character_filters", "answer.match_features", "answer.lowercase"});
  add(kJoint, kAnswer, {"answer.modelling_layers"});
  add(kNoCharacters, kAnswer, {"answer.character_embedding", "answer.character_width", "answer.max_word"});
  add(kLoss, kBleu,
      {"validation.sentences", "validation.tokenizer", "validation.search.beam", "validation.search.no_repeat_ngram",
       "validation.search.min_length", "validation.search.max_length", "validation.search.max_ratio",
       "validation.search.allow_unknown", "validation.search.sample"});
  add(kBleu, {"validation.metric=bleu", "validation.search.beam=4"},
      {"validation.search.length_penalty", "validation.search.coverage_penalty"});
  add(kBleu, {"validation.metric=bleu", "validation.search.sample=true"},
      {"validation.search.temperature", "validation.search.top_k", "validation.search.top_p",
       "validation.search.seed"});
  add({"validation.metric=bleu", "validation.search.beam=4"}, {}, {"validation.search.nbest"});
  return rows;
}

bool reports(const std::string& path, Changes changes, const std::string& key, const std::string& value) {
  std::vector<std::string> warnings;
  changes.push_back(key + "=" + value);
  read_recipe(path, changes, &warnings);
  const std::string says = fmt::format("--set {}={}: {} has no effect: ", key, value, key);
  return std::any_of(warnings.begin(), warnings.end(), [&](const std::string& w) { return w.starts_with(says); });
}

TEST(Settings, EveryKeyOfARecipeIsAccountedFor) {
  const TemporaryFolder folder;
  const std::string path =
      folder.file("r.toml", "folder = \"x\"\n[data]\ngenerator = \"dates\"\n[training]\nepochs = 1\n");
  Recipe recipe;
  std::map<std::string, std::string> values;  // the defaults: named ones are reported, too
  const Fields all = fields_of(recipe);
  for (const Field& field : all.list()) {
    std::string text = field.text();
    std::erase_if(text, [](char c) { return c == '"' || c == '[' || c == ']'; });
    if (!field.key().starts_with("model.")) values[field.key()] = text;
  }
  std::set<std::string> seen;
  for (const Row& row : rows()) {
    ASSERT_TRUE(values.contains(row.key)) << row.key;
    EXPECT_TRUE(seen.insert(row.key).second) << row.key << " is listed twice";
    const std::string& value = values[row.key];
    if (!row.unused_with.empty()) {
      EXPECT_TRUE(reports(path, row.unused_with, row.key, value)) << row.key;
    }
    if (!row.used_with.empty()) {
      EXPECT_FALSE(reports(path, row.used_with, row.key, value)) << row.key;
    }
  }
  for (const auto& [key, value] : values) EXPECT_TRUE(seen.contains(key)) << key << " is missing from rows()";
}

TEST(Settings, AClassifierOfPicturesUsesThoseOfPicturesAndClasses) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.toml",
                                       "task = \"classify-images\"\nfolder = \"x\"\n[data]\ntrain = \"t\"\n[vision]\n"
                                       "frozen = false\n[batch]\nsentences = 8\n[training]\nepochs = 1\n");
  const std::vector<std::pair<std::string, std::string>> used = {{"data.images", "p"},
                                                                 {"data.features", "f"},
                                                                 {"data.held_out", "7"},
                                                                 {"data.drop_duplicates", "true"},
                                                                 {"vision.depth", "8"},
                                                                 {"vision.augment.crop", "0.5"},
                                                                 {"classify.pooling", "max"},
                                                                 {"classify.label_column", "l"},
                                                                 {"training.label_smoothing", "0.1"},
                                                                 {"validation.metric", "macro-f1"},
                                                                 {"classify.class_weights", "balanced"}};
  for (const auto& [key, value] : used) EXPECT_FALSE(reports(path, {}, key, value)) << key;
  const std::vector<std::pair<std::string, std::string>> unused = {
      {"model.hidden", "7"},           {"model.encoder", "transformer"}, {"source_vocabulary.size", "70"},
      {"batch.tokens", "70"},          {"classify.word_dropout", "0.1"}, {"data.max_source", "7"},
      {"training.coverage_loss", "1"}, {"validation.search.beam", "2"},  {"training.freeze_embeddings", "true"}};
  for (const auto& [key, value] : unused) EXPECT_TRUE(reports(path, {}, key, value)) << key;
  EXPECT_TRUE(reports(path, {"vision.frozen=true", "vision.weights=w"}, "vision.augment.flip", "true"));
  EXPECT_ERROR(read_recipe(path, Changes{"vision.frozen=true"}), "vision.weights: expected the weights of a frozen");
  EXPECT_ERROR(read_recipe(path, Changes{"batch.sentences=0"}), "expected the number of pictures in a batch");
  EXPECT_ERROR(read_recipe(path, Changes{"data.train="}), "expected data.train, a folder");
  EXPECT_ERROR(read_recipe(path, Changes{"validation.metric=bleu"}), "expected one of loss, accuracy, macro-f1");
}

TEST(Settings, ShippedRecipesHaveNoneWithoutEffect) {
  add_shipped_folder(FOVEA_RECIPES "/..");  // a recipe goes on with a shipped model
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FOVEA_RECIPES)) {
    std::vector<std::string> warnings;
    read_recipe(entry.path(), {}, &warnings);
    for (const std::string& warning : warnings) ADD_FAILURE() << warning;
    ++count;
  }
  EXPECT_GE(count, 13);
}

TEST(Settings, ACompleteRecipeChoseOnlyWhatIsNotADefault) {
  const TemporaryFolder folder;
  Recipe recipe;
  recipe.data.generator = "dates";
  recipe.training.epochs = 1;
  recipe.model.positions = "learned";
  std::vector<std::string> warnings;
  const std::string path = folder.file("r.toml", recipe_text(recipe, false));
  read_recipe(path, {}, &warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(
      warnings[0],
      path +
          ": model.positions has no effect: it needs model.architecture = transformer, or model.encoder = transformer");
}

// ---- settings of the model: changing one changes a training step, or it is reported ----

struct Fingerprint {
  int64_t parameters = 0;
  std::vector<float> numbers;  // the loss, and gradients
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

Fingerprint train_step(const ModelConfig& config) {
  Parameters parameters(Device::cpu());
  const auto model = make_model(parameters, config, {.source = 12, .target = 12});
  parameters.allocate(1);
  ParallelCorpus corpus;
  for (int32_t i = 0; i < 3; ++i) {
    corpus.source.append(std::vector<int32_t>{4, 5 + i, 6, 7, 8, 9, 10, 11, 4, 5});
    corpus.target.append(std::vector<int32_t>{5, 4 + i, 7, 6, 9, 8, 11});
    corpus.lines.push_back(i);
  }
  Tape tape(Device::cpu(), 1);
  const TapeScope tape_scope(tape);
  const std::vector<int64_t> all = {0, 1, 2};
  const Batch batch = make_batch(corpus, all, {}, Device::cpu());
  SequenceLoss sequence_loss({}, config.attention);
  const TaskLoss loss =
      sequence_loss(model->teacher_force({batch.source, batch.source_lengths}, batch.target_in), batch, {});
  tape.backward(loss.total);
  Fingerprint made{parameters.count(), to_host<float>(parameters.grads())};
  made.numbers.push_back(to_host<float>(loss.total.value())[0]);
  return made;
}

ModelConfig model_with(const Changes& changes) {
  ModelConfig config;
  config.embedding = config.hidden = config.feed_forward = 8;
  config.longest = config.attention.longest = config.self_attention.longest = 20;
  config.self_attention.heads = 2;
  Fields fields = fields_of(config);
  for (const std::string& change : changes) {
    const size_t equals = change.find('=');
    fields.find(change.substr(0, equals)).set_text(change.substr(equals + 1));
  }
  return config;
}

// Other values that a setting may have.
std::vector<std::string> others(const Field& field) {
  const Field::Value value = field.value();
  if (const auto* on = std::get_if<bool>(&value)) return {*on ? "false" : "true"};
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    return {field.name() == "window" ? "1" : std::to_string(3 * std::max<int64_t>(*whole, 4))};
  }
  if (const auto* real = std::get_if<double>(&value)) return {fmt::format("{}", *real + 0.3)};
  std::string type = field.type();  // "one of a, b, c"
  type.erase(0, std::string("one of ").size());
  std::vector<std::string> found;
  for (size_t begin = 0; begin < type.size();) {
    const size_t end = std::min(type.find(", ", begin), type.size());
    const std::string choice = type.substr(begin, end - begin);
    if (choice != std::get<std::string>(value)) found.push_back(choice);
    begin = end + 2;
  }
  return found;
}

class ModelSettings : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Architectures, ModelSettings, ::testing::ValuesIn(names_of(architectures())));

TEST_P(ModelSettings, HaveAnEffectOrAreReported) {
  std::vector<Changes> contexts = {
      {},
      {"encoder_layers=2", "decoder_layers=2"},
      {"positions=learned"},
      {"cell=lstm"},
      {"attention.scope=local-m", "self_attention.scope=local-p"},
      {"attention.scope=local-p", "attention.score=general", "self_attention.relative=shaw"},
      {"attention.relative=shaw", "attention.score=general", "self_attention.score=location"},
      {"attention.score=location", "self_attention.score=additive"},
      {"attention.selection=hard", "attention.score=general", "self_attention.heads=1"},
      {"attention.selection=hard", "attention.estimator=straight-through", "self_attention.selection=hard"},
      {"attention.heads=2", "attention.score=dot", "self_attention.selection=hard",
       "self_attention.estimator=straight-through"},
  };
  for (const std::string& encoder : names_of(text_encoders())) contexts.push_back({"encoder=" + encoder});
  for (const std::string& score : names_of(scores())) {
    contexts.push_back({"attention.score=" + score, "bidirectional=false"});  // so that dot products find one depth
  }
  const ArchitectureEntry& entry = *find_entry(architectures(), GetParam());
  if (entry.recurrent && entry.cross_attention) contexts.push_back({"cell=lstm", "attention.sentinel=true"});
  set_thread_count(1);
  int64_t checked = 0;
  for (Changes context : contexts) {
    context.push_back("architecture=" + GetParam());
    ModelConfig base = model_with(context);
    const Fingerprint before = train_step(base);
    const Fields fields = fields_of(base);
    for (const Field& field : fields.list()) {
      if (field.key() == "architecture") continue;
      bool changed = false;
      int64_t tried = 0;
      for (const std::string& other : others(field)) {
        Changes changes = context;
        changes.push_back(field.key() + "=" + other);
        try {
          changed = changed || train_step(model_with(changes)) != before;
          ++tried;
        } catch (const Error&) {  // a combination that is refused is no silence
        }
      }
      if (tried == 0) continue;
      ++checked;
      EXPECT_EQ(field.why_unused().empty(), changed)
          << fmt::format("{}: {}", fmt::join(context, " "), field.key()) << ": " << field.why_unused();
    }
  }
  EXPECT_GT(checked, 300);
}

}  // namespace
}  // namespace fovea
