// Models that copy words outside their vocabulary: search, scores, records and folders.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "decode/test_models.h"
#include "decode/translator.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

using Words = std::vector<std::string>;

const Words kLines = {"a x b x", "y", "c c z a b", "b y x z c", "a"};  // x, y and z are unknown

// A random model over the words a, b and c.
struct CopyingModel {
  explicit CopyingModel(const ModelConfig& config, uint64_t seed = 3)
      : vocabulary(train_vocabulary(Words{"a b c"}, {.kind = "word"}).vocabulary),
        small(config, vocabulary->size(), seed) {
    loaded.config.source_words = loaded.config.target_words = vocabulary->size();
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

std::vector<Setup> copying_setups() {
  std::vector<Setup> all;
  for (const std::string& architecture : attending_models()) {
    for (const char* copy : {"mixture", "pointer"}) {
      for (const char* attention : {"cross", "own"}) {
        Setup& setup = all.emplace_back(Setup{architecture + "_" + copy + "_" + attention, small_config(architecture)});
        setup.config.copy = copy;
        setup.config.copy_attention = attention;
      }
    }
  }
  return all;
}

class CopyingDecode : public ::testing::TestWithParam<Setup> {
 protected:
  bool is_pointer() const { return GetParam().config.copy == "pointer"; }
  CopyingModel model{GetParam().config};
  Translator translator{{model.loaded}, RuntimeOptions{.batches = {.tokens = 2048}}};
};

TEST_P(CopyingDecode, WritesWordsOfTheSource) {
  int64_t copied = 0;
  for (const Translation& t : translator.translate(kLines, {.beam = 3, .nbest = 3, .max_length = 8})) {
    for (const Translation::Candidate& c : t.candidates) {
      copied += c.text.find_first_of("xyz") != std::string::npos ? 1 : 0;
      if (is_pointer()) EXPECT_EQ(c.text.find("⁇"), std::string::npos) << c.text;
    }
  }
  EXPECT_GT(copied, 0);
}

// Scores of beams, samples and greedy search are those of teacher forcing.
TEST_P(CopyingDecode, SearchAgreesWithScores) {
  for (const SearchOptions& search :
       {SearchOptions{.max_length = 8}, SearchOptions{.beam = 4, .nbest = 4, .length_penalty = 0, .max_length = 8},
        SearchOptions{.nbest = 3, .max_length = 8, .sample = true}}) {
    const auto translations = translator.translate(kLines, search);
    for (size_t i = 0; i < kLines.size(); ++i) {
      for (const Translation::Candidate& c : translations[i].candidates) {
        // A text with the unknown mark can be read in another way.
        if (!c.hypothesis.finished || c.text.find("⁇") != std::string::npos) continue;
        const Hypothesis scored = translator.score(Words{kLines[i]}, Words{c.text}).front();
        EXPECT_EQ(scored.ids, c.hypothesis.ids) << c.text;
        EXPECT_NEAR(scored.log_probability, c.hypothesis.log_probability, 2e-4) << kLines[i] << " -> " << c.text;
      }
    }
  }
}

TEST_P(CopyingDecode, BatchesDoNotMatter) {
  const SearchOptions search{.beam = 3, .nbest = 2, .max_length = 8};
  const auto together = translator.translate(kLines, search);
  for (size_t i = 0; i < kLines.size(); ++i) {
    const Translation alone = translator.translate(Words{kLines[i]}, search).front();
    ASSERT_EQ(alone.candidates.size(), together[i].candidates.size());
    for (size_t n = 0; n < alone.candidates.size(); ++n) {
      EXPECT_EQ(alone.candidates[n].text, together[i].candidates[n].text);
      EXPECT_NEAR(alone.candidates[n].hypothesis.score, together[i].candidates[n].hypothesis.score, 1e-4);
    }
  }
}

TEST_P(CopyingDecode, NoNgramIsRepeated) {
  for (const Translation& t : translator.translate(kLines, {.beam = 2, .no_repeat_ngram = 1, .max_length = 8})) {
    std::vector<int32_t> ids = t.candidates.front().hypothesis.ids;
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end()) << t.text();
  }
}

TEST_P(CopyingDecode, RecordsHaveTheCopiedText) {
  const auto sources = translator.tokenise_source(kLines, Offsets::kTokens);
  const auto translations =
      translator.translate(sources, {.beam = 2, .max_length = 8, .alternatives = 2, .capture_weights = true});
  for (size_t i = 0; i < kLines.size(); ++i) {
    const Hypothesis& hypothesis = translations[i].candidates.front().hypothesis;
    const AttentionRecord record = translator.record(*sources[i], hypothesis);
    EXPECT_EQ(record.target_text, translations[i].text());
    const auto copy = std::find_if(record.attentions.begin(), record.attentions.end(),
                                   [](const RecordedAttention& a) { return a.kind == "copy"; });
    ASSERT_NE(copy, record.attentions.end());
    EXPECT_EQ(copy->rows, std::ssize(record.target));
    EXPECT_EQ(copy->columns, std::ssize(record.source));
    for (size_t t = 0; t < record.target.size(); ++t) {
      const RecordToken& token = record.target[t];
      if (!token.mark) {
        EXPECT_EQ(record.target_text.substr(static_cast<size_t>(token.begin), token.text.size()), token.text);
      }
      ASSERT_EQ(record.steps[t].copy_probability.has_value(), !is_pointer());
      if (is_pointer()) continue;
      EXPECT_GE(*record.steps[t].copy_probability, 0);
      EXPECT_LE(*record.steps[t].copy_probability, 1);
    }
    // Streamed steps are the same.
    StepRecorder recorder(translator.models(), sources[i]->copied.words);
    for (size_t t = 0; t < hypothesis.ids.size(); ++t) {
      const RecordedStep step =
          recorder.add({.step = static_cast<int64_t>(t), .id = hypothesis.ids[t], .alternatives = {}, .weights = {}});
      EXPECT_EQ(step.token.text, record.target[t].text);
      EXPECT_EQ(step.token.begin, record.target[t].begin);
    }
  }
}

// A prefix with a word of the source.
TEST_P(CopyingDecode, PrefixesMayBeCopied) {
  const SharedLine source = translator.tokenise_source(std::string("a x b x"));
  ForcedPrefix prefix;
  for (const int32_t id : translator.target_ids(*source, *translator.tokenise_target(std::string("x b")))) {
    prefix.push_back({id});
  }
  SearchOptions search{.beam = 2, .max_length = 8};
  search.prefixes = {prefix};
  const std::string text = translator.translate(std::vector<SharedLine>{source}, search).front().text();
  EXPECT_TRUE(text.starts_with("x b")) << text;
}

TEST_P(CopyingDecode, FoldersEnsemblesAndPackedModels) {
  const SearchOptions search{.beam = 2, .max_length = 8};
  const TemporaryFolder folder;
  const std::string plain = folder.file("plain"), packed = folder.file("packed"), other = folder.file("other");
  model.save(plain);
  save_packed(packed, model.loaded);
  CopyingModel(GetParam().config, 4).save(other);
  const TranslatorOptions options{.device = "cpu", .precision = "f32"};
  const auto expected = translator.translate(kLines, search),
             got = Translator({plain}, options).translate(kLines, search);
  for (size_t i = 0; i < kLines.size(); ++i) EXPECT_EQ(got[i].text(), expected[i].text());
  EXPECT_EQ(Translator({packed}, options).translate(kLines, search).size(), kLines.size());
  const Translator both({plain, other}, options);
  const auto translations = both.translate(kLines, search);
  for (size_t i = 0; i < kLines.size(); ++i) {
    const Translation::Candidate& c = translations[i].candidates.front();
    if (!c.hypothesis.finished || c.text.find("⁇") != std::string::npos) continue;
    EXPECT_NEAR(both.score(Words{kLines[i]}, Words{c.text}).front().log_probability, c.hypothesis.log_probability,
                2e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Copying, CopyingDecode, ::testing::ValuesIn(copying_setups()),
                         [](const auto& test) { return test.param.name; });

// Folders of earlier versions have a switch.
TEST(CopyingFolder, TakesTrueAndFalse) {
  ModelConfig config = small_config("bahdanau");
  config.copy = "mixture";
  const TemporaryFolder folder;
  CopyingModel(config).save(folder.path());
  std::ifstream in(folder.file("config.json"));
  std::string json((std::istreambuf_iterator<char>(in)), {});
  const size_t at = json.find("\"mixture\"");
  ASSERT_NE(at, std::string::npos);
  folder.file("config.json", json.replace(at, 9, "true"));
  EXPECT_EQ(load_model(folder.path(), Device::cpu()).config.model.copy, "mixture");
}

}  // namespace
}  // namespace fovea
