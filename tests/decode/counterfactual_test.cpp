// Interventions in a search: forced prefixes, replaced rows of attention weights, heads that are switched off. Also the
// watcher of a running search.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "decode/test_models.h"

namespace fovea {
namespace {

constexpr int64_t kWords = 12;

SearchOptions short_search() { return {.max_length = 9, .alternatives = 3, .capture_weights = true}; }

ParallelCorpus one_source() {
  ParallelCorpus corpus;
  corpus.source.append(std::vector<int32_t>{5, 9, 4, 7, 6});
  return corpus;
}

const HypothesisWeights& cross_of(const Hypothesis& h, int64_t layer = 0) {
  for (const HypothesisWeights& w : h.weights) {
    if (w.kind == AttentionKind::kCross && w.layer == layer) return w;
  }
  throw std::runtime_error("no cross attention");
}

void expect_same(const std::vector<Hypothesis>& a, const std::vector<Hypothesis>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].ids, b[i].ids);
    EXPECT_EQ(a[i].log_probs, b[i].log_probs);
    EXPECT_EQ(a[i].score, b[i].score);
  }
}

TEST(ForcedPrefix, WordsComeFirstAndTheRestFollowsFromThem) {
  for (const auto& setup : setups()) {
    SCOPED_TRACE(setup.name);
    const SmallModel small(setup.config, kWords, 3);
    const ParallelCorpus sources = some_sources(kWords);
    for (const int64_t beam : {1, 3}) {
      SearchOptions options{.beam = beam, .nbest = beam, .max_length = 9};
      options.prefixes.resize(static_cast<size_t>(sources.size()));
      for (size_t i = 0; i < options.prefixes.size(); ++i) {
        for (size_t t = 0; t < i % 4; ++t) options.prefixes[i].push_back({static_cast<int32_t>(4 + (i * 3 + t) % 8)});
      }
      const auto found = find_with(small, sources, options);
      for (size_t i = 0; i < found.size(); ++i) {
        for (const Hypothesis& h : found[i]) {
          const ForcedPrefix& begin = options.prefixes[i];
          ASSERT_GE(h.ids.size(), begin.size());
          for (size_t t = 0; t < begin.size(); ++t) EXPECT_EQ(h.ids[t], begin[t][0]);
          // Each token has its probability after the tokens before it.
          const std::vector<double> next = next_log_probs(small, sources, static_cast<int64_t>(i),
                                                          {h.ids.begin(), h.ids.begin() + std::ssize(begin)});
          const int32_t word = h.ids.size() > begin.size() ? h.ids[begin.size()] : kEnd;
          if (h.log_probs.size() > begin.size()) {
            EXPECT_NEAR(next[static_cast<size_t>(word)], h.log_probs[begin.size()], 1e-4);
          }
        }
      }
    }
  }
}

TEST(ForcedPrefix, OfSeveralTheLikeliestAndNothingForcedIsNothingChanged) {
  const SmallModel small(small_config("bahdanau"), kWords, 3);
  const ParallelCorpus sources = one_source();
  const std::vector<double> next = next_log_probs(small, sources, 0, {});
  const int32_t likelier = next[5] > next[8] ? 5 : 8;
  SearchOptions options{.beam = 2, .max_length = 9};
  const auto plain = find_with(small, sources, options);
  options.prefixes = {{{5, 8}}};
  EXPECT_EQ(find_with(small, sources, options)[0][0].ids[0], likelier);
  options.prefixes = {{}};
  expect_same(find_with(small, sources, options)[0], plain[0]);
  // A prefix of the unforced result leads to the same result.
  SearchOptions greedy{.max_length = 9};
  const Hypothesis free = find_with(small, sources, greedy)[0][0];
  for (size_t t = 0; t < free.ids.size(); ++t) {
    ForcedPrefix begin;
    for (size_t i = 0; i <= t; ++i) begin.push_back({free.ids[i]});
    greedy.prefixes = {begin};
    EXPECT_EQ(find_with(small, sources, greedy)[0][0].ids, free.ids);
  }
  greedy.prefixes = {ForcedPrefix(9, {4})};
  EXPECT_THROW(find_with(small, sources, greedy), Error);
}

TEST(AttentionEdits, AReplacedRowIsWhatIsLookedAt) {
  for (const auto& setup : setups()) {
    if (!setup.config.has_cross_attention()) continue;
    SCOPED_TRACE(setup.name);
    const SmallModel small(setup.config, kWords, 3);
    const ParallelCorpus sources = one_source();
    for (const int64_t beam : {1, 2}) {
      SearchOptions options = short_search();
      options.beam = beam;
      options.min_length = 4;
      const Hypothesis plain = find_with(small, sources, options)[0][0];
      const std::vector<float> given = {0.5f, 0, 0, 0.25f, 0, 0.25f};
      options.edits = {{.edit = {.row = 1, .weights = given}}};
      const Hypothesis edited = find_with(small, sources, options)[0][0];
      for (const HypothesisWeights& w : edited.weights) {
        if (w.kind != AttentionKind::kCross) continue;
        for (int64_t h = 0; h < w.heads; ++h) {
          const float* row = w.weights.data() + (h * w.rows + 1) * w.columns;
          EXPECT_EQ(std::vector<float>(row, row + w.columns), given);
        }
      }
      if (beam > 1) continue;
      // Steps before the edit are unchanged; later ones differ.
      EXPECT_NEAR(edited.log_probs[0], plain.log_probs[0], 1e-5);
      EXPECT_NE(edited.log_probs[1], plain.log_probs[1]);
    }
  }
}

// Replacing a row by itself changes only rounding, and teacher forcing applies edits as decoding does.
TEST(AttentionEdits, ItsOwnRowChangesNothingAndForcedIsAsDecoded) {
  for (const auto& setup : setups()) {
    if (!setup.config.has_cross_attention()) continue;
    SCOPED_TRACE(setup.name);
    const SmallModel small(setup.config, kWords, 3);
    const ParallelCorpus sources = one_source();
    SearchOptions options = short_search();
    options.min_length = 4;
    const Hypothesis plain = find_with(small, sources, options)[0][0];
    const HypothesisWeights& w = cross_of(plain);
    const auto row = w.weights.begin() + 2 * w.columns;
    std::vector<float> own(row, row + w.columns);
    if (!w.sentinel.empty()) own.push_back(w.sentinel[2]);
    options.edits = {{.layer = 0, .edit = {.head = 0, .row = 2, .weights = own}}};
    const Hypothesis same = find_with(small, sources, options)[0][0];
    EXPECT_EQ(same.ids, plain.ids);
    EXPECT_NEAR(same.log_probability, plain.log_probability, 1e-4);

    options.edits = {{.edit = {.row = 1, .weights = {0, 1, 0, 0, 0, 0}}}, {.edit = {.row = 2, .off = true}}};
    const Hypothesis decoded = find_with(small, sources, options)[0][0];
    ParallelCorpus pair = sources;
    pair.target.append(decoded.ids);
    const EncoderDecoder* const models[] = {small.model.get()};
    const Hypothesis forced =
        score(models, pair, batches_of(1), {.capture_weights = true, .edits = options.edits}, Device::cpu()).front();
    for (size_t t = 0; t < decoded.ids.size(); ++t) EXPECT_NEAR(forced.log_probs[t], decoded.log_probs[t], 1e-4);
  }
}

TEST(AttentionEdits, AHeadThatIsOffBringsNothing) {
  for (const auto& setup : setups()) {
    if (!setup.config.has_cross_attention()) continue;
    SCOPED_TRACE(setup.name);
    const SmallModel small(setup.config, kWords, 3);
    const ParallelCorpus sources = one_source();
    SearchOptions options = short_search();
    const Hypothesis plain = find_with(small, sources, options)[0][0];
    for (const AttentionInfo& info : small.model->attentions()) {
      const AttentionKind kind = info.kind;
      const int64_t heads = info.config.heads;
      if (kind == AttentionKind::kCopy) continue;  // not edited by itself
      options.edits = {{.kind = kind, .layer = 0, .edit = {.head = heads - 1, .off = true}}};
      const Hypothesis edited = find_with(small, sources, options)[0][0];
      EXPECT_NE(edited.log_probs, plain.log_probs);
      for (const HypothesisWeights& w : edited.weights) {
        if (w.kind == AttentionKind::kCopy) continue;  // may be those of the edited attention
        const int64_t size = w.rows * w.columns;
        for (int64_t h = 0; h < w.heads; ++h) {
          double sum = 0;
          for (int64_t i = 0; i < size; ++i) sum += static_cast<double>(w.weights[static_cast<size_t>(h * size + i)]);
          EXPECT_EQ(sum == 0, w.kind == kind && w.layer == 0 && h == heads - 1);
        }
      }
    }
    options.edits = {{.edit = {.head = 7, .off = true}}};
    EXPECT_THROW(find_with(small, sources, options), Error);
    options.edits = {{.edit = {.row = 0, .weights = {1, 0}}}};
    EXPECT_THROW(find_with(small, sources, options), Error);
  }
}

class Recorder : public SearchWatcher {
 public:
  bool should_continue(int64_t sentence) override { return sentence != stopped || steps[sentence].size() < 2; }
  bool wants_steps(int64_t) override { return true; }
  void step(int64_t sentence, const SearchStep& s) override { steps[sentence].push_back(s); }
  bool wants_tree(int64_t) override { return true; }
  void tree(int64_t sentence, const SearchTree& t) override { trees[sentence] = t; }

  int64_t stopped = -1;
  std::map<int64_t, std::vector<SearchStep>> steps;
  std::map<int64_t, SearchTree> trees;
};

// The weights of a step are row t of the weights of the hypothesis.
void expect_row(const std::vector<HypothesisWeights>& step, const std::vector<HypothesisWeights>& all, int64_t t) {
  for (const HypothesisWeights& w : all) {
    if (w.kind == AttentionKind::kEncoderSelf) continue;
    const auto same = [&](const HypothesisWeights& s) { return s.kind == w.kind && s.layer == w.layer; };
    const auto row = std::find_if(step.begin(), step.end(), same);
    ASSERT_NE(row, step.end());
    EXPECT_EQ(row->first_row, t);
    for (int64_t h = 0; h < w.heads; ++h) {
      for (int64_t s = 0; s < row->columns; ++s) {
        EXPECT_EQ(row->weights[static_cast<size_t>(h * row->columns + s)],
                  w.weights[static_cast<size_t>((h * w.rows + t) * w.columns + s)]);
      }
    }
  }
}

TEST(Watcher, SeesWhatComesOutStepByStep) {
  for (const auto& setup : setups()) {
    SCOPED_TRACE(setup.name);
    const SmallModel small(setup.config, kWords, 3);
    const ParallelCorpus sources = some_sources(kWords);
    for (const int64_t beam : {1, 3}) {
      SearchOptions options = short_search();
      options.beam = options.nbest = beam;
      const auto alone = find_with(small, sources, options);
      Recorder recorder;
      options.watcher = &recorder;
      const auto found = find_with(small, sources, options);
      for (size_t i = 0; i < found.size(); ++i) {
        expect_same(found[i], alone[i]);
        const Hypothesis& best = found[i][0];
        const std::vector<SearchStep>& told = recorder.steps[static_cast<int64_t>(i)];
        std::vector<int32_t> words = best.ids;
        if (best.finished) words.push_back(kEnd);
        // A step replaces the reported steps from its position on; the last version is the best hypothesis.
        std::vector<SearchStep> steps;
        for (const SearchStep& step : told) {
          ASSERT_LE(step.step, std::ssize(steps));
          steps.resize(static_cast<size_t>(step.step));
          steps.push_back(step);
        }
        if (beam == 1) {
          EXPECT_EQ(told.size(), words.size()) << "each once";
        }
        ASSERT_EQ(steps.size(), words.size());
        for (size_t t = 0; t < steps.size(); ++t) {
          EXPECT_EQ(steps[t].id, words[t]);
          EXPECT_EQ(steps[t].log_prob, best.log_probs[t]);
          EXPECT_EQ(steps[t].alternatives, best.alternatives[t]);
          expect_row(steps[t].weights, best.weights, static_cast<int64_t>(t));
        }
      }
    }
  }
}

TEST(Watcher, GetsTheTreeWithTheWayToEveryHypothesis) {
  const SmallModel small(small_config("luong"), kWords, 3);
  SearchOptions options{.beam = 3, .nbest = 2, .max_length = 9};
  Recorder recorder;
  options.watcher = &recorder;
  const auto found = find_with(small, some_sources(kWords), options);
  for (size_t i = 0; i < found.size(); ++i) {
    const std::vector<SearchTree::Node>& nodes = recorder.trees[static_cast<int64_t>(i)].nodes;
    EXPECT_EQ(nodes[0].parent, -1);
    EXPECT_EQ(nodes[0].id, kBegin);
    size_t kept = 0;
    for (size_t n = 1; n < nodes.size(); ++n) {
      const SearchTree::Node& parent = nodes[static_cast<size_t>(nodes[n].parent)];
      EXPECT_EQ(nodes[n].step, parent.step + 1);
      EXPECT_NEAR(nodes[n].total, parent.total + static_cast<double>(nodes[n].log_prob), 1e-9);
      EXPECT_TRUE(!nodes[n].in_result || parent.in_result);
      kept += nodes[n].in_result ? 1 : 0;
    }
    EXPECT_GE(kept, found[i][0].log_probs.size());
    EXPECT_LE(kept, found[i][0].log_probs.size() + found[i].back().log_probs.size());
  }
}

TEST(Watcher, MayStopASentenceAndNoOther) {
  const SmallModel small(small_config("bahdanau"), kWords, 3, -5.0f);
  const ParallelCorpus sources = some_sources(kWords);
  SearchOptions options{.max_length = 9};
  const auto alone = find_with(small, sources, options);
  Recorder recorder;
  recorder.stopped = 4;
  options.watcher = &recorder;
  const auto found = find_with(small, sources, options);
  for (size_t i = 0; i < found.size(); ++i) {
    if (i == 4) {
      EXPECT_EQ(found[i][0].ids.size(), 2u);
      EXPECT_FALSE(found[i][0].finished);
    } else {
      expect_same(found[i], alone[i]);
    }
  }
}

}  // namespace
}  // namespace fovea
