// An attention record has the weights of the decoding: the same as an unfused recomputation in every model and
// mechanism, for every candidate and every batch size, with masked cells absent and tokens at their offsets in the
// text.
#include <gtest/gtest.h>

#include <cmath>

#include "decode/attention_history.h"
#include "decode/record.h"
#include "decode/test_models.h"
#include "support.h"
#include "text/utf8.h"

namespace fovea {
namespace {

constexpr int64_t kWords = 11;

// The weights of one teacher-forced target, alone in its batch, on a tape, where nothing is fused.
std::vector<HypothesisWeights> unfused(const EncoderDecoder& model, const ParallelCorpus& sources, int64_t row,
                                       const std::vector<int32_t>& words) {
  ParallelCorpus pair;
  pair.source.append(sources.source[row]);
  pair.target.append(words);
  const int64_t first = 0;
  const Batch batch = make_batch(pair, std::span(&first, 1), batches_of(1), Device::cpu());
  Tape tape(Device::cpu());
  tape.set_training(false);
  tape.reset();
  const TapeScope tape_scope(tape);
  const TeacherForced forced = model.teacher_force({batch.source, batch.source_lengths}, batch.target_in, true);
  std::vector<HostWeights> host;
  copy_to_host(forced.attentions, 0, host);
  std::vector<HypothesisWeights> weights;
  for (const HostWeights& w : host) weights.push_back(slice_sentence(w, 0, w.shape[2], w.shape[3]));
  return weights;
}

void expect_near(const HypothesisWeights& got, const HypothesisWeights& expected) {
  ASSERT_EQ(got.heads, expected.heads);
  for (int64_t h = 0; h < got.heads; ++h) {
    for (int64_t t = 0; t < got.rows; ++t) {
      const auto row = static_cast<size_t>(h * got.rows + t);
      double tolerance = 1e-5;
      if (!got.centers.empty()) {
        // A centre is a fraction of the number of columns. A weight has the factor exp(-(s - centre)^2 / 2 sigma^2),
        // whose slope is at most exp(-1/2) / sigma, with sigma at least 1/2.
        ASSERT_NEAR(got.centers[row], expected.centers[row], 1e-5 * static_cast<double>(got.columns));
        tolerance += 2 * std::exp(-0.5) * std::abs(got.centers[row] - expected.centers[row]);
      }
      for (int64_t s = 0; s < got.columns; ++s) {
        const float x = got.weights[static_cast<size_t>((h * got.rows + t) * got.columns + s)];
        const float y = expected.weights[static_cast<size_t>((h * expected.rows + t) * expected.columns + s)];
        ASSERT_NEAR(x, y, tolerance) << "head " << h << " row " << t << " column " << s;
      }
    }
  }
}

class RecordTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordTest, EqualsAnUnfusedRecomputation) {
  const ParallelCorpus sources = some_sources(kWords);
  for (const auto& setup : mechanisms(GetParam())) {
    SCOPED_TRACE(setup.name);
    const SmallModel small(setup.config, kWords, 3);
    const auto found = find_with(small, sources, {.beam = 2, .nbest = 2, .max_length = 7, .capture_weights = true});
    for (const int64_t row : {1, 2, 6}) {
      for (const Hypothesis& h : found[static_cast<size_t>(row)]) {
        const auto expected = unfused(*small.model, sources, row, h.ids);
        ASSERT_EQ(h.weights.size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i) {
          expect_near(h.weights[i], expected[i]);
          EXPECT_EQ(h.weights[i].centers.empty(),
                    !(setup.config.attention.scope == "local-p" && h.weights[i].kind == AttentionKind::kCross));
        }
      }
    }
  }
}

TEST_P(RecordTest, IsTheSameInEveryBatch) {
  const ParallelCorpus sources = some_sources(kWords);
  const SmallModel small(mechanisms(GetParam())[0].config, kWords, 3);
  const SearchOptions options{.beam = 3, .nbest = 2, .max_length = 7, .alternatives = 3, .capture_weights = true};
  const auto alone = find_with(small, sources, options, 1), together = find_with(small, sources, options, 32);
  for (size_t i = 0; i < alone.size(); ++i) {
    for (size_t n = 0; n < alone[i].size(); ++n) {
      ASSERT_EQ(alone[i][n].ids, together[i][n].ids);
      for (size_t w = 0; w < alone[i][n].weights.size(); ++w) {
        expect_near(alone[i][n].weights[w], together[i][n].weights[w]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RecordTest, ::testing::ValuesIn(attending_models()));

TEST(RecordAlternatives, AreTheLikeliestWordsOfEachStep) {
  const SmallModel small(mechanisms("bahdanau")[0].config, kWords, 3);
  const ParallelCorpus sources = some_sources(kWords);
  for (const bool sample : {false, true}) {
    SearchOptions options{.max_length = 7, .sample = sample, .alternatives = 4};
    const auto found = find_with(small, sources, options);
    options.alternatives = 0;
    const auto plain = find_with(small, sources, options);
    const Hypothesis& h = found[2][0];
    EXPECT_EQ(h.ids, plain[2][0].ids);
    EXPECT_EQ(h.log_probs, plain[2][0].log_probs);
    ASSERT_EQ(h.alternatives.size(), h.log_probs.size());
    const std::vector<double> first = next_log_probs(small, sources, 2, {});
    ASSERT_EQ(h.alternatives[0].size(), 4u);
    for (size_t i = 0; i < 4; ++i) {
      const NextToken& next = h.alternatives[0][i];
      EXPECT_NEAR(next.log_prob, first[static_cast<size_t>(next.id)], 1e-4);
      size_t likelier = 0;
      for (size_t word = 0; word < first.size(); ++word) {
        const bool never = word == kPad || word == kBegin;
        if (!never && first[word] > static_cast<double>(next.log_prob) + 1e-4) ++likelier;
      }
      EXPECT_EQ(likelier, i);
    }
    ParallelCorpus pair;
    pair.source.append(sources.source[2]);
    pair.target.append(h.ids);
    const EncoderDecoder* const models[] = {small.model.get()};
    const Hypothesis forced = score(models, pair, batches_of(1), {.alternatives = 4}, Device::cpu()).front();
    EXPECT_EQ(forced.alternatives[0][0].id, h.alternatives[0][0].id);
    EXPECT_EQ(forced.ids, h.ids);
  }
}

// A model with random weights and vocabularies that were trained on the lines.
LoadedModel loaded(const ModelConfig& config, const std::vector<std::string>& lines, const VocabularyOptions& kind,
                   bool reverse_source = false) {
  LoadedModel model;
  model.source = train_vocabulary(lines, kind).vocabulary;
  model.target = train_vocabulary(lines, kind).vocabulary;
  model.config.model = config;
  model.config.source_words = model.config.target_words = model.source->size();
  model.config.reverse_source = reverse_source;
  const auto parameters = std::make_shared<Parameters>(Device::cpu());
  model.model = make_model(*parameters, config, {model.source->size(), model.target->size()});
  parameters->allocate(5);
  model.parameters = parameters;
  return model;
}

AttentionRecord forced_record(const LoadedModel& model, const std::string& source, const std::string& target) {
  ParallelCorpus pair;
  pair.source.append(model.source->encode(source));
  pair.target.append(model.target->encode(target));
  const EncoderDecoder* const models[] = {model.model.get()};
  const auto scored = score(models, pair, model.batches(), {.capture_weights = true, .alternatives = 2}, Device::cpu());
  return make_record({&model, 1}, *tokenise(source, *model.source, Offsets::kTokens), scored.front(), 1000);
}

std::string part(const std::string& text, int64_t begin, int64_t end) {
  std::string result;
  int64_t i = 0;
  for (const CodePoint& c : code_points(text)) {
    if (i >= begin && i < end) result += text.substr(c.begin, c.end - c.begin);
    ++i;
  }
  return result;
}

TEST(MakeRecord, KnowsWhereTokensStand) {
  const std::vector<std::string> lines = {"der müde Hund schläft", "我爱你 和 猫", "القطة تحب السمك",
                                          "the tired dog 🐕"};
  const VocabularyOptions bytes{.kind = "unigram", .size = 320, .coverage = 0.8, .byte_fallback = true};
  for (const VocabularyOptions& kind :
       {VocabularyOptions{.kind = "character"}, VocabularyOptions{.kind = "word"}, bytes}) {
    const LoadedModel model = loaded(mechanisms("bahdanau")[0].config, lines, kind);
    for (const std::string& line : lines) {
      SCOPED_TRACE(kind.kind + ": " + line);
      const AttentionRecord record = forced_record(model, line, line);
      EXPECT_EQ(record.source_text, line);
      ASSERT_EQ(std::ssize(record.source), record.attentions.front().columns);
      ASSERT_EQ(std::ssize(record.target), record.attentions.front().rows);
      ASSERT_EQ(record.steps.size(), record.target.size());
      EXPECT_EQ(record.steps[0].alternatives.size(), 2u);
      EXPECT_TRUE(record.source.back().mark);
      EXPECT_TRUE(record.target.back().mark);
      std::string together;
      int64_t before = 0;
      for (const RecordToken& token : record.source) {
        EXPECT_GE(token.begin, before);
        before = token.end;
        const std::string text = part(line, token.begin, token.end);
        if (token.end > token.begin) {
          EXPECT_EQ(text, token.text);
        }
        together += text;
      }
      std::string letters;
      for (const char c : line) {
        if (c != ' ') letters += c;
      }
      std::erase(together, ' ');
      EXPECT_EQ(together, letters);
    }
  }
}

// Recorded one by one during a search, tokens have the same offsets as in the whole text.
TEST(StepRecorder, KnowsWhereTokensStandWithoutReadingAllAgain) {
  const std::vector<std::string> lines = {"der müde Hund schläft", "我爱你 和 猫", "القطة تحب السمك",
                                          "the tired dog 🐕"};
  const VocabularyOptions bytes{.kind = "unigram", .size = 320, .coverage = 0.8, .byte_fallback = true};
  for (const VocabularyOptions& kind :
       {VocabularyOptions{.kind = "character"}, VocabularyOptions{.kind = "word"}, bytes}) {
    const LoadedModel model = loaded(mechanisms("bahdanau")[0].config, lines, kind);
    StepRecorder recorder({&model, 1});
    for (const std::string& line : lines) {
      SCOPED_TRACE(kind.kind + ": " + line);
      const std::vector<int32_t> words = model.target->encode(line);
      const AttentionRecord whole = forced_record(model, line, line);
      for (size_t t = 0; t <= words.size(); ++t) {  // starting again at 0 replaces the earlier steps
        const int32_t word = t < words.size() ? words[t] : kEnd;
        const RecordToken token = recorder.add({.step = static_cast<int64_t>(t), .id = word}).token;
        EXPECT_EQ(recorder.steps(), static_cast<int64_t>(t) + 1);
        EXPECT_EQ(recorder.characters(recorder.steps()), token.end);
        const RecordToken& expected = whole.target[t];
        EXPECT_EQ(token.mark, expected.mark);
        // The first bytes of a character have no text until the character is complete.
        const bool part = t < words.size() && model.target->piece(word).starts_with("<0x");
        if (part && expected.end == expected.begin) continue;
        EXPECT_EQ(token.text, expected.text);
        EXPECT_EQ(token.begin, expected.begin);
        EXPECT_EQ(token.end, expected.end);
        EXPECT_EQ(token.starts_word, expected.starts_word);
      }
    }
  }
}

TEST(MakeRecord, LeavesOutWhatWasMasked) {
  const std::vector<std::string> lines = {"abcdefghijkl"};
  for (const char* scope : {"local-m", "local-p"}) {
    ModelConfig config = mechanisms("luong")[0].config;
    config.attention.scope = scope;
    config.attention.window = 2;
    const LoadedModel model = loaded(config, lines, {.kind = "character"});
    const AttentionRecord record = forced_record(model, "abcdefghij", "lkjihgfedcba");
    const RecordedAttention& a = record.attentions.front();
    ASSERT_EQ(a.window, 2);
    for (int64_t t = 0; t < a.rows; ++t) {
      const float center = a.centers[static_cast<size_t>(t)];
      double sum = 0;
      for (int64_t s = 0; s < a.columns; ++s) {
        const float weight = a.row(0, 0, t)[s];
        EXPECT_EQ(std::isnan(weight), std::abs(static_cast<float>(s) - center) > 2.0f) << scope << t << " " << s;
        if (!std::isnan(weight)) sum += static_cast<double>(weight);
      }
      EXPECT_NEAR(sum, 1.0, 1e-5);
    }
  }
  const LoadedModel model = loaded(mechanisms("transformer")[0].config, lines, {.kind = "character"});
  for (const RecordedAttention& a : forced_record(model, "abcdefghij", "lkjihg").attentions) {
    for (int64_t h = 0; h < a.heads; ++h) {
      for (int64_t t = 0; t < a.rows; ++t) {
        for (int64_t s = 0; s < a.columns; ++s) {
          EXPECT_EQ(std::isnan(a.row(0, h, t)[s]), a.kind == "decoder-self" && s > t) << a.kind << t << " " << s;
        }
      }
    }
  }
}

// A source that is read backwards is recorded in the order of the text, as for the same model with a reversed source.
TEST(MakeRecord, TurnsABackwardSourceRound) {
  const std::vector<std::string> lines = {"abcdefghijkl"};
  const ModelConfig config = mechanisms("bahdanau")[0].config;
  const LoadedModel backward = loaded(config, lines, {.kind = "character"}, true),
                    forward = loaded(config, lines, {.kind = "character"});
  const RecordedAttention turned = forced_record(backward, "abcde", "lkj").attentions.front(),
                          plain = forced_record(forward, "edcba", "lkj").attentions.front();
  for (int64_t t = 0; t < plain.rows; ++t) {
    for (int64_t s = 0; s < 5; ++s) EXPECT_EQ(turned.row(0, 0, t)[s], plain.row(0, 0, t)[4 - s]);
    EXPECT_EQ(turned.row(0, 0, t)[5], plain.row(0, 0, t)[5]);
  }
}

}  // namespace
}  // namespace fovea
