// Translators of models in memory and of model folders.
#include "decode/translator.h"

#include <gtest/gtest.h>

#include <atomic>

#include "decode/test_models.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

const std::vector<std::string> kLines = {"abc", "", "dcba", "aabbccdd", "d"};

// A random model over the characters a, b, c and d, in memory.
struct InMemory {
  explicit InMemory(const ModelConfig& config, bool reverse_source = false)
      : vocabulary(train_vocabulary(std::vector<std::string>{"abcd"}, {.kind = "character"}).vocabulary),
        small(config, vocabulary->size(), 3) {
    loaded.config.source_words = loaded.config.target_words = vocabulary->size();
    loaded.config.reverse_source = reverse_source;
    loaded.config.model = config;
    loaded.source = loaded.target = vocabulary;
    loaded.parameters = {std::shared_ptr<void>(), &small.parameters};  // owned by `small`
    loaded.model = {std::shared_ptr<void>(), small.model.get()};
  }
  void save(const std::string& folder) const {
    save_model_description(folder, loaded.config, *vocabulary, *vocabulary);
    save_weights(folder, small.parameters, small.parameters.values());
  }
  std::shared_ptr<const Vocabulary> vocabulary;
  SmallModel small;
  LoadedModel loaded;
};

std::vector<std::string> texts(const std::vector<Translation>& translations) {
  std::vector<std::string> texts;
  for (const Translation& t : translations) texts.push_back(t.text());
  return texts;
}

std::vector<double> scores(const std::vector<Translation>& translations) {
  std::vector<double> scores;
  for (const Translation& t : translations) scores.push_back(t.candidates.front().hypothesis.score);
  return scores;
}

TEST(Translator, AModelInMemoryTranslatesLikeItsFolder) {
  const SearchOptions search{.beam = 2, .max_length = 12};
  for (const auto& setup : setups()) {
    const InMemory model(setup.config, setup.name == "luong");
    const TemporaryFolder folder;
    model.save(folder.path());
    const Translator from_folder({folder.path()}, {.device = "cpu", .precision = "f32"});
    const Translator in_memory({model.loaded}, RuntimeOptions{.batches = {.tokens = 2048}});
    const std::vector<Translation> expected = from_folder.translate(kLines, search),
                                   got = in_memory.translate(kLines, search);
    EXPECT_EQ(texts(got), texts(expected)) << setup.name;
    EXPECT_EQ(scores(got), scores(expected)) << setup.name;
  }
}

// As in training: the translator is made once, and each call uses the weights of that moment.
TEST(Translator, UsesTheWeightsOfTheMoment) {
  for (const auto& setup : setups()) {
    const InMemory model(setup.config);
    const Translator translator({model.loaded}, RuntimeOptions{});
    const SearchOptions search{.max_length = 12};
    const std::vector<double> before = scores(translator.translate(kLines, search));
    std::vector<float> values = to_host<float>(model.small.parameters.values());
    for (float& x : values) x = -x;
    copy(from_host(values, model.small.parameters.values().shape(), Device::cpu()), model.small.parameters.values());
    model.small.parameters.values().contents_changed();
    const std::vector<double> after = scores(translator.translate(kLines, search));
    const TemporaryFolder folder;
    model.save(folder.path());
    const Translator saved({folder.path()}, {.device = "cpu", .precision = "f32"});
    EXPECT_NE(after, before) << setup.name;
    EXPECT_EQ(after, scores(saved.translate(kLines, search))) << setup.name;
  }
}

TEST(Translator, TruncatesALineThatIsLongerThanTheModelReads) {
  ModelConfig config = small_config("transformer");
  config.positions = "learned";
  config.longest = 8;
  const InMemory model(config);
  const Translator translator({model.loaded}, RuntimeOptions{});
  const std::vector<std::string> lines = {std::string(30, 'a'), std::string(7, 'a')};
  const std::vector<Translation> translations = translator.translate(lines, {.max_length = 100});
  EXPECT_TRUE(translations[0].truncated);
  EXPECT_EQ(translations[0].source_tokens, 30);
  EXPECT_FALSE(translations[1].truncated);
  EXPECT_EQ(translations[0].text(), translations[1].text());
  EXPECT_LE(std::ssize(translations[0].candidates.front().hypothesis.log_probs), 8);
}

// A vocabulary that counts how often it tokenises.
class CountingVocabulary : public Vocabulary {
 public:
  explicit CountingVocabulary(std::shared_ptr<const Vocabulary> vocabulary) : vocabulary_(std::move(vocabulary)) {}
  std::string_view kind() const override { return vocabulary_->kind(); }
  int64_t size() const override { return vocabulary_->size(); }
  std::string piece(int32_t id) const override { return vocabulary_->piece(id); }
  std::vector<Token> tokenise(std::string_view text) const override {
    ++tokenised;
    return vocabulary_->tokenise(text);
  }
  std::vector<int32_t> encode(std::string_view text) const override {
    ++tokenised;
    return vocabulary_->encode(text);
  }
  std::string_view extension() const override { return vocabulary_->extension(); }
  std::string bytes() const override { return vocabulary_->bytes(); }
  mutable std::atomic<int> tokenised = 0;

 protected:
  std::string decode_valid(std::span<const int32_t> ids, std::vector<Token>& tokens) const override {
    return vocabulary_->decode(ids, &tokens);
  }

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
};

TEST(Translator, TokenisesALineOnceForTranslationsScoresAndRecords) {
  InMemory model(small_config("bahdanau"));
  const auto vocabulary = std::make_shared<CountingVocabulary>(model.vocabulary);
  model.loaded.source = vocabulary;
  const Translator translator({model.loaded}, RuntimeOptions{});
  const std::vector<std::string> lines = {"abc", "dcba"};
  const std::vector<SharedLine> sources = translator.tokenise_source(lines, Offsets::kTokens);
  const auto translations = translator.translate(sources, {.max_length = 12, .capture_weights = true});
  const auto scored = translator.score(sources, translator.tokenise_target(lines), {.capture_weights = true});
  for (size_t i = 0; i < lines.size(); ++i) {
    const AttentionRecord record = translator.record(*sources[i], translations[i].candidates.front().hypothesis);
    EXPECT_EQ(record.source_text, lines[i]);
    EXPECT_EQ(record.source.size(), lines[i].size() + 1);
    EXPECT_EQ(translator.record(*sources[i], scored[i]).source.size(), record.source.size());
  }
  EXPECT_EQ(vocabulary->tokenised, 2);
}

// The first model of this ensemble has no attention at all.
TEST(Translator, TheRecordOfAnEnsembleDescribesTheAttentionsOfEachModel) {
  const InMemory plain(small_config("rnn-seq2seq")), additive(small_config("bahdanau"));
  ModelConfig config = small_config("luong");
  config.attention.score = "general";
  config.attention.scope = "local-m";
  config.attention.window = 2;
  const InMemory local(config);
  const Translator translator({plain.loaded, additive.loaded, local.loaded}, RuntimeOptions{});
  const std::vector<std::string> lines = {"abcd"};
  const std::vector<SharedLine> sources = translator.tokenise_source(lines, Offsets::kTokens);
  const auto translations = translator.translate(sources, {.max_length = 12, .capture_weights = true});
  const AttentionRecord record = translator.record(*sources[0], translations[0].candidates.front().hypothesis);
  ASSERT_EQ(record.attentions.size(), 2U);
  EXPECT_EQ(record.attentions[0].model, 1);
  EXPECT_EQ(record.attentions[0].mechanism, additive.loaded.config.model.attention.mechanism());
  EXPECT_EQ(record.attentions[0].window, 0);
  EXPECT_EQ(record.attentions[1].model, 2);
  EXPECT_EQ(record.attentions[1].mechanism, config.attention.mechanism());
  EXPECT_EQ(record.attentions[1].window, 2);
}

TEST(Translator, LinesInOtherFormsGiveTheSame) {
  const InMemory model(small_config("luong"));
  const Translator translator({model.loaded}, RuntimeOptions{});
  const SearchOptions search{.max_length = 12};
  const std::vector<double> expected = scores(translator.translate(kLines, search));
  for (const Offsets offsets : {Offsets::kNone, Offsets::kTokens}) {
    EXPECT_EQ(scores(translator.translate(translator.tokenise_source(kLines, offsets), search)), expected);
  }
  const SharedLine without = translator.tokenise_source(kLines).front();
  EXPECT_ERROR(translator.record(*without, Hypothesis{}), "record: expected a line that was tokenised with offsets");
}

}  // namespace
}  // namespace fovea
