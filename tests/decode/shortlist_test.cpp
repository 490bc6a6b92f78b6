// Decoding with a shortlist: the softmax over the list, for every search and every model; lists, and hostile files.
#include "decode/shortlist.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "decode/test_models.h"
#include "decode/translator.h"
#include "models/row_selection.h"
#include "ops/ops.h"
#include "store/safetensors.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

constexpr int64_t kWords = 80;

std::vector<int32_t> range(int32_t begin, int32_t end) {
  std::vector<int32_t> ids(static_cast<size_t>(end - begin));
  std::iota(ids.begin(), ids.end(), begin);
  return ids;
}

// Every list has the first 16 tokens; source token s adds s, s + 7 and s + 31, within the vocabulary.
Shortlist some_shortlist() {
  std::vector<std::vector<int32_t>> candidates(kWords);
  for (int32_t s = 4; s < kWords; ++s) {
    for (const int32_t step : {0, 7, 31}) candidates[static_cast<size_t>(s)].push_back(4 + (s + step) % (kWords - 4));
  }
  return {range(0, 16), candidates, kWords};
}

Shortlist of_everything() {
  return {range(0, kWords), std::vector<std::vector<int32_t>>(kWords, std::vector<int32_t>{4}), kWords};
}

// ---- lists -------------------------------------------------------------------------------------

TEST(ShortlistOf, IsTheUnionOfItsTokensCandidates) {
  const Shortlist shortlist({3, 1}, {{}, {}, {}, {}, {7, 5}, {5, 9}, {}}, 20);
  EXPECT_EQ(shortlist.of(std::vector<int32_t>{4, 5, 4}), (std::vector<int32_t>{1, 3, 5, 7, 9}));
  EXPECT_EQ(shortlist.of(std::vector<int32_t>{4, kEnd}), (std::vector<int32_t>{1, 3, 5, 7}));
  EXPECT_EQ(shortlist.of(std::vector<int32_t>{4}, std::vector<int32_t>{19, 5}), (std::vector<int32_t>{1, 3, 5, 7, 19}));
  EXPECT_TRUE(shortlist.of(std::vector<int32_t>{4, 6}).empty()) << "nothing is known of token 6: the whole vocabulary";
  EXPECT_TRUE(shortlist.of(std::vector<int32_t>{4}, range(0, 11)).empty()) << "more than half: the whole vocabulary";
}

TEST(ShortlistOf, EstimatesCandidatesFromText) {
  const std::vector<std::string> sources = {"a b", "a c", "b c", "c", "x"}, targets = {"P Q", "P R", "R Q", "R", "7"};
  const auto source = train_vocabulary(sources, {.kind = "word"}).vocabulary;
  std::vector<std::string> words = targets;
  words.insert(words.end(), {"x", "y1 y2 y3 y4 y5 y6 y7 y8 y9"});
  const auto target = train_vocabulary(words, {.kind = "word"}).vocabulary;
  ParallelCorpus corpus;
  for (size_t i = 0; i < sources.size(); ++i) {
    corpus.source.append(source->encode(sources[i]));
    corpus.target.append(target->encode(targets[i]));
  }
  const Shortlist made = estimate_shortlist(corpus, *source, *target, {.frequent = 1, .candidates = 1});
  const auto listed = [&](const std::string& text, const std::string& word) {
    const std::vector<int32_t> list = made.of(source->encode(text));
    return std::binary_search(list.begin(), list.end(), target->encode(word).front());
  };
  EXPECT_TRUE(listed("a", "P"));
  EXPECT_TRUE(listed("b", "Q"));
  EXPECT_FALSE(listed("a", "Q"));
  EXPECT_TRUE(listed("a", "R")) << "the most frequent token is in every list";
  EXPECT_TRUE(listed("x", "x")) << "the token itself, so that it can be copied";
  EXPECT_TRUE(listed("x", "7"));
}

// ---- the output layer --------------------------------------------------------------------------

class ShortlistTest : public ::testing::TestWithParam<Setup> {
 protected:
  bool copies() const { return GetParam().config.copies(); }
};

// Logits of a list are the columns of all logits, bit for bit, in f32 and in 8 bits.
TEST_P(ShortlistTest, TheLogitsAreColumnsOfAllLogits) {
  if (copies()) GTEST_SKIP() << "refused, see below";
  ModelConfig config = GetParam().config;
  config.embedding = config.hidden = config.attention.depth = 32;  // large enough for products in 8 bits
  config.feed_forward = 64;
  const SmallModel small(config, kWords, 3);
  const ParallelCorpus sources = some_sources(kWords);
  const std::vector<int64_t> rows = {0, 3, 4};
  const Batch batch = make_batch(CorpusView(sources).source_only(), rows, batches_of(3), Device::cpu());
  for (const Precision precision : {Precision::kF32, Precision::kInt8}) {
    const PrecisionScope scope(precision);
    const auto logits_of = [&](const std::vector<int32_t>& vocabulary) {
      const auto state = small.model->decode({batch.source, batch.source_lengths}, {.vocabulary = vocabulary});
      std::vector<float> all;
      for (const int32_t token : {int32_t{kBegin}, 17}) {
        const auto some = to_host<float>(state->step(from_host(std::vector(3, token), {1, 3}, Device::cpu())).value());
        all.insert(all.end(), some.begin(), some.end());
      }
      return all;
    };
    const std::vector<float> whole = logits_of({});
    EXPECT_EQ(logits_of(range(0, kWords)), whole);
    std::vector<int32_t> list;
    for (int32_t id = 1; id < kWords; id += 3) list.push_back(id);
    std::vector<float> columns;
    for (size_t row = 0; row < 6; ++row) {
      for (const int32_t id : list) columns.push_back(whole[row * kWords + static_cast<size_t>(id)]);
    }
    EXPECT_EQ(logits_of(list), columns);
  }
}

TEST_P(ShortlistTest, AModelThatCopiesRefusesIt) {
  if (!copies()) GTEST_SKIP() << "does not copy";
  const SmallModel small(GetParam().config, kWords, 3);
  const ParallelCorpus sources = some_sources(kWords);
  const int64_t row = 0;
  Batch batch = make_batch(CorpusView(sources).source_only(), std::span(&row, 1), batches_of(1), Device::cpu());
  EXPECT_ERROR((void)small.model->decode({batch.source, batch.source_lengths}, {.vocabulary = {1, 3, 9}}),
               "expected a model that does not copy");
}

TEST_P(ShortlistTest, OneThatHasEverythingChangesNothing) {
  if (copies()) GTEST_SKIP() << "refused";
  const SmallModel small(GetParam().config, kWords, 3);
  const Shortlist everything = of_everything();
  for (SearchOptions options : {SearchOptions{.max_length = 12}, SearchOptions{.beam = 3, .nbest = 3, .max_length = 12},
                                SearchOptions{.nbest = 2, .max_length = 12, .sample = true, .top_k = 5}}) {
    options.alternatives = 2;
    const auto without = find_with(small, some_sources(kWords), options);
    options.shortlist = &everything;
    const auto with = find_with(small, some_sources(kWords), options);
    for (size_t i = 0; i < with.size(); ++i) {
      ASSERT_EQ(with[i].size(), without[i].size());
      for (size_t n = 0; n < with[i].size(); ++n) {
        EXPECT_EQ(with[i][n].ids, without[i][n].ids);
        EXPECT_EQ(with[i][n].log_probs, without[i][n].log_probs);
        EXPECT_EQ(with[i][n].alternatives, without[i][n].alternatives);
      }
    }
  }
}

// log p of each token is that of the softmax over the list of its own sentence, whatever else is in the batch.
TEST_P(ShortlistTest, LogProbabilitiesAreOfTheSoftmaxOverTheList) {
  if (copies()) GTEST_SKIP() << "refused";
  const SmallModel small(GetParam().config, kWords, 3);
  const ParallelCorpus sources = some_sources(kWords);
  const Shortlist shortlist = some_shortlist();
  int restricted = 0;
  for (SearchOptions options : {SearchOptions{.max_length = 6}, SearchOptions{.beam = 3, .nbest = 2, .max_length = 6},
                                SearchOptions{.nbest = 2, .max_length = 6, .sample = true}}) {
    options.shortlist = &shortlist;
    options.alternatives = 3;
    const auto found = find_with(small, sources, options), alone = find_with(small, sources, options, 1);
    for (int64_t i = 0; i < sources.size(); ++i) {
      const std::vector<int32_t> list = shortlist.of(sources.source[i]);
      restricted += list.empty() ? 0 : 1;
      const auto& hypotheses = found[static_cast<size_t>(i)];
      ASSERT_EQ(hypotheses.size(), alone[static_cast<size_t>(i)].size());
      for (size_t n = 0; n < hypotheses.size(); ++n) {
        const Hypothesis& h = hypotheses[n];
        EXPECT_EQ(h.ids, alone[static_cast<size_t>(i)][n].ids) << "the batch matters";
        EXPECT_NEAR(h.score, alone[static_cast<size_t>(i)][n].score, 1e-3);
        for (size_t t = 0; t < h.log_probs.size(); ++t) {
          const std::vector<int32_t> before(h.ids.begin(), h.ids.begin() + static_cast<std::ptrdiff_t>(t));
          const std::vector<double> all = next_log_probs(small, sources, i, before);
          double sum = list.empty() ? 1.0 : 0.0;
          for (const int32_t id : list) sum += std::exp(all[static_cast<size_t>(id)]);
          const int32_t chosen = t < h.ids.size() ? h.ids[t] : kEnd;
          EXPECT_TRUE(list.empty() || std::binary_search(list.begin(), list.end(), chosen)) << chosen;
          EXPECT_NEAR(h.log_probs[t], all[static_cast<size_t>(chosen)] - std::log(sum), 1e-3);
          for (const NextToken& other : h.alternatives[t]) {
            EXPECT_NEAR(other.log_prob, all[static_cast<size_t>(other.id)] - std::log(sum), 1e-3);
          }
        }
      }
    }
  }
  EXPECT_GT(restricted, 10);
}

INSTANTIATE_TEST_SUITE_P(Models, ShortlistTest, ::testing::ValuesIn(setups()),
                         [](const auto& test) { return test.param.name; });

// ---- with other features of a search -----------------------------------------------------------

TEST(ShortlistSearch, APrefixMayHaveTokensThatTheListLacks) {
  const SmallModel small(small_config("transformer"), kWords, 3);
  const Shortlist shortlist = some_shortlist();
  ParallelCorpus sources;
  for (const int i : {0, 1}) sources.source.append(std::vector<int32_t>{static_cast<int32_t>(20 + i)});
  const std::vector<int32_t> listed = shortlist.of(sources.source[0]);
  ASSERT_FALSE(std::binary_search(listed.begin(), listed.end(), 70));
  const std::vector<ForcedPrefix> prefixes = {{{70}, {71, 72}}, {}};
  const auto found = find_with(small, sources, {.max_length = 8, .prefixes = prefixes, .shortlist = &shortlist});
  const std::vector<int32_t>& ids = found[0][0].ids;
  ASSERT_GE(ids.size(), 2U);
  EXPECT_EQ(ids[0], 70);
  EXPECT_TRUE(ids[1] == 71 || ids[1] == 72);
  EXPECT_EQ(found[1][0].ids, find_with(small, sources, {.max_length = 8, .shortlist = &shortlist})[1][0].ids);
}

// The mean of the models' probabilities, each a softmax over the list.
TEST(ShortlistSearch, AnEnsembleHasTheSameList) {
  const SmallModel one(small_config("transformer"), kWords, 3), two(small_config("bahdanau"), kWords, 4);
  const EncoderDecoder* const models[] = {one.model.get(), two.model.get()};
  const ParallelCorpus sources = some_sources(kWords);
  const Shortlist shortlist = some_shortlist();
  const auto found =
      search(models, sources, batches_of(32), {.beam = 2, .max_length = 5, .shortlist = &shortlist}, Device::cpu());
  for (int64_t i = 0; i < sources.size(); ++i) {
    const std::vector<int32_t> list = shortlist.of(sources.source[i]);
    if (list.empty()) continue;
    const Hypothesis& h = found[static_cast<size_t>(i)][0];
    const int32_t first = h.ids.empty() ? kEnd : h.ids[0];
    double mean = 0;
    for (const SmallModel* model : {&one, &two}) {
      const std::vector<double> all = next_log_probs(*model, sources, i, {});
      double sum = 0;
      for (const int32_t id : list) sum += std::exp(all[static_cast<size_t>(id)]);
      mean += std::exp(all[static_cast<size_t>(first)]) / sum / 2;
    }
    EXPECT_NEAR(h.log_probs[0], std::log(mean), 1e-4);
    for (const int32_t id : h.ids) EXPECT_TRUE(std::binary_search(list.begin(), list.end(), id));
  }
}

TEST(ShortlistSearch, RowsInEightBitsStayInEightBits) {
  const std::vector<int8_t> values = {1, 2, 3, 4, 5, 6, -7, 8, 9};
  const std::vector<float> scales = {0.5f, 2.0f, 4.0f};
  const Tensor weight = empty({3, 3}, DType::kF32, Device::cpu());
  weight.buffer()->set_quantised(weight.address(), {.rows = 3,
                                                    .columns = 3,
                                                    .values = values.data(),
                                                    .scales = reinterpret_cast<const std::byte*>(scales.data()),
                                                    .owner = {}});
  const Tensor copied = copy_rows(weight, std::vector<int32_t>{2, 0});
  EXPECT_TRUE(weight.buffer()->needs_widening()) << "f32 elements of the whole weight were computed";
  const QuantisedRow row = copied.quantised_row(0, 3);
  ASSERT_TRUE(row);
  EXPECT_EQ(std::vector<int8_t>(row.values, row.values + 3), (std::vector<int8_t>{-7, 8, 9}));
  EXPECT_EQ(row.scale, 4.0f);
  EXPECT_EQ(to_host<float>(copied), (std::vector<float>{-28, 32, 36, 0.5f, 1.0f, 1.5f}));
}

// ---- files -------------------------------------------------------------------------------------

struct Files {
  TemporaryFolder folder;
  std::unique_ptr<Vocabulary> source =
                                  train_vocabulary(std::vector<std::string>{"abcd"}, {.kind = "character"}).vocabulary,
                              target =
                                  train_vocabulary(std::vector<std::string>{"pqrs"}, {.kind = "character"}).vocabulary;
  std::string path = folder.file("shortlist.safetensors");
  Shortlist shortlist{range(0, 8), std::vector<std::vector<int32_t>>(8, std::vector<int32_t>{5}), 8};
  std::map<std::string, std::string> metadata() const { return SafetensorsFile(path).metadata(); }
  // Writes tensors of these contents with the metadata of a true file.
  std::string write(const std::vector<int32_t>& begins, const std::vector<int32_t>& ids) const {
    const auto about = metadata();
    const std::string other = folder.file("other.safetensors");
    const auto tensor = [](const std::vector<int32_t>& x) { return from_host(x, {std::ssize(x)}, Device::cpu()); };
    write_safetensors(other, {{"begins", tensor(begins)}, {"ids", tensor(ids)}}, about);
    return other;
  }
  void load(const std::string& file) const { (void)Shortlist::load(file, *source, *target); }
};

TEST(ShortlistFile, IsReadAsItWasWritten) {
  const Files files;
  ASSERT_EQ(files.source->size(), 8);
  const Shortlist made(range(0, 8), {{}, {}, {}, {}, {4, 7}, {5}, {6}, {}}, 8);
  made.save(files.path, *files.source, *files.target);
  const auto read = Shortlist::load(files.path, *files.source, *files.target);
  EXPECT_EQ(read->source_words(), 8);
  EXPECT_EQ(read->common(), 8);
  EXPECT_EQ(read->entries(), 4);
  made.save(files.folder.file("again"), *files.source, *files.target);
  read->save(files.folder.file("read"), *files.source, *files.target);
  const auto bytes = [&](const std::string& name) {
    std::ifstream file(files.folder.file(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(bytes("read"), bytes("again"));
}

TEST(ShortlistFile, HostileFilesAreRefusedWithTheReason) {
  const Files files;
  EXPECT_ERROR(files.load(files.folder.file("none")), "cannot open");
  files.shortlist.save(files.path, *files.source, *files.target);
  files.load(files.path);
  const std::vector<int32_t> begins = {0, 8, 8, 8, 8, 8, 9, 10, 11, 12};
  EXPECT_ERROR((void)Shortlist::load(files.path, *files.target, *files.source), "vocabularies of this model");
  EXPECT_ERROR(files.load(files.write({0, 8}, range(0, 8))), "vocabularies of this model");
  EXPECT_ERROR(files.load(files.write({0, 8, 8, 8, 8, 8, 9, 7, 11, 12}, range(0, 12))), "begins that ascend");
  EXPECT_ERROR(files.load(files.write({-4, 8, 8, 8, 8, 8, 9, 10, 11, 12}, range(0, 12))), "begins that ascend");
  EXPECT_ERROR(files.load(files.write({0, 8, 8, 8, 8, 8, 8, 8, 8, 2147483647}, range(0, 8))), "begins that ascend");
  EXPECT_ERROR(files.load(files.write(begins, range(0, 12))), "target tokens from 0 to 7, got 8");
  std::vector<int32_t> negative = range(0, 8);
  negative.insert(negative.end(), {-1, 0, 0, 0});
  EXPECT_ERROR(files.load(files.write(begins, negative)), "target tokens from 0 to 7, got -1");
  EXPECT_ERROR(files.load(files.write({0, 2, 2, 2, 2, 2, 3, 4, 5, 6}, range(0, 6))), "at least 8 tokens");
  write_safetensors(files.folder.file("foreign"), {}, {});
  EXPECT_ERROR(files.load(files.folder.file("foreign")), "expected a shortlist");
  const auto size = std::filesystem::file_size(files.path);
  for (size_t kept = 0; kept < size; kept += 13) {
    const std::string part = files.folder.file("part");
    std::filesystem::copy_file(files.path, part, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(part, kept);
    EXPECT_THROW(files.load(part), Error) << kept << " of " << size << " bytes";
  }
}

TEST(ShortlistFile, ATranslatorTakesItFromTheFolderOrAFile) {
  const auto vocabulary = std::shared_ptr<const Vocabulary>(
      train_vocabulary(std::vector<std::string>{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"},
                       {.kind = "character"})
          .vocabulary);
  const int64_t words = vocabulary->size();
  const SmallModel small(small_config("transformer"), words, 3);
  FolderConfig config;
  config.source_words = config.target_words = words;
  config.model = small_config("transformer");
  const TemporaryFolder folder;
  save_model_description(folder.path(), config, *vocabulary, *vocabulary);
  save_weights(folder.path(), small.parameters, small.parameters.values());
  const auto translator = [&](const std::string& shortlist) {
    return Translator({folder.path()}, {.device = "cpu", .precision = "f32", .shortlist = shortlist});
  };
  const std::vector<std::string> lines = {"abc", "", "xyz", "hello"};
  const auto log_probs = [&](const std::string& shortlist) {
    std::vector<double> all;
    for (const Translation& t : translator(shortlist).translate(lines, {.max_length = 6})) {
      all.push_back(t.candidates.front().hypothesis.log_probability);
    }
    return all;
  };
  EXPECT_ERROR((void)translator("on"), "the model has no shortlist");
  EXPECT_ERROR((void)translator(folder.file("missing")), "cannot open");
  const std::vector<double> exact = log_probs("off");
  EXPECT_EQ(log_probs("auto"), exact);
  const Shortlist made(range(0, 16), std::vector<std::vector<int32_t>>(static_cast<size_t>(words), {20}), words);
  made.save(shortlist_path(folder.path()), *vocabulary, *vocabulary);
  const std::vector<double> listed = log_probs("on");
  EXPECT_NE(listed, exact);
  EXPECT_EQ(log_probs("auto"), exact) << "a file alone changes no default";
  std::filesystem::copy_file(shortlist_path(folder.path()), folder.file("elsewhere"));
  EXPECT_EQ(log_probs(folder.file("elsewhere")), listed);
  config.decoding.shortlist = true;
  save_config(folder.path(), config);
  EXPECT_EQ(log_probs("auto"), listed);
  EXPECT_EQ(log_probs("off"), exact);
}

}  // namespace
}  // namespace fovea
