// Decoding on the card: 32 tokens for sources of 30, with the base Transformer of Vaswani et al. 2017.
#include <fmt/format.h>

#include "base/random.h"
#include "bench/cuda.h"
#include "decode/search.h"
#include "models/model.h"
#include "ops/ops.h"

namespace bench {

namespace {

using namespace fovea;  // NOLINT(google-build-using-namespace): a benchmark uses most of the library's names

constexpr int64_t kVocabulary = 16'000, kSourceLength = 30, kTargetLength = 32;

ModelConfig config() {
  ModelConfig c;
  c.architecture = "transformer";
  c.embedding = 512;
  c.feed_forward = 2048;
  c.encoder_layers = c.decoder_layers = 6;
  c.norm = "post";
  c.attention.score = c.self_attention.score = "scaled-dot";
  c.attention.heads = c.self_attention.heads = 8;
  c.tie_embeddings = true;
  c.dropout = 0;
  return c;
}

ParallelCorpus random_sources(int64_t count) {
  Random random(7);
  ParallelCorpus corpus;
  for (int64_t b = 0; b < count; ++b) {
    std::vector<int32_t> sentence;
    for (int64_t s = 0; s < kSourceLength; ++s) {
      sentence.push_back(static_cast<int32_t>(kEnd + 1 + random.below(static_cast<uint32_t>(kVocabulary - kEnd - 1))));
    }
    corpus.source.append(sentence);
    corpus.lines.push_back(b);
  }
  return corpus;
}

class Generation {
 public:
  explicit Generation(Precision precision)
      : precision_(precision),
        parameters_(kCard),
        model_(make_model(parameters_, config(), {kVocabulary, kVocabulary})) {
    parameters_.allocate(1);
  }
  std::vector<std::vector<Hypothesis>> operator()(const ParallelCorpus& corpus, int64_t beams) const {
    const PrecisionScope scope(precision_);
    const EncoderDecoder* model = model_.get();
    BatchOptions batches;
    batches.tokens = 1 << 20;
    batches.end_source = batches.shuffle = false;
    SearchOptions options;
    options.beam = beams;
    options.max_length = kTargetLength;
    options.min_length = kTargetLength - 1;
    options.constant_weights = true;
    return search({&model, 1}, corpus, batches, options, kCard);
  }
  // The largest difference between the log-probabilities of the likeliest token and of the one that was chosen.
  double largest_gap(const ParallelCorpus& corpus) const {
    const auto found = (*this)(corpus, 1);
    ParallelCorpus pairs = corpus;
    for (const auto& sentence : found) pairs.target.append(sentence.front().ids);
    const PrecisionScope scope(precision_);
    const EncoderDecoder* model = model_.get();
    BatchOptions batches;
    batches.end_source = batches.shuffle = false;
    ScoreOptions options;
    options.alternatives = 1;
    double most = 0;
    for (const Hypothesis& h : score({&model, 1}, pairs, batches, options, kCard)) {
      for (size_t t = 0; t + 1 < h.ids.size(); ++t) {
        most = std::max(most, static_cast<double>(h.alternatives[t][0].log_prob - h.log_probs[t]));
      }
    }
    return most;
  }

 private:
  Precision precision_;
  Parameters parameters_;
  std::unique_ptr<EncoderDecoder> model_;
};

// Steps that run eagerly, that are captured and that are replayed give the same hypotheses.
void check_repeats() {
  const Generation generation(Precision::kBF16);
  for (const int64_t beams : {1, 4}) {
    const auto first = generation(random_sources(8), beams);
    for (int again = 0; again < 3; ++again) {
      const auto found = generation(random_sources(8), beams);
      for (size_t i = 0; i < first.size(); ++i) {
        if (found[i].front().log_probs != first[i].front().log_probs)
          wrong("a replayed step gives other log-probabilities");
      }
      generation(random_sources(5 + again), beams);  // other shapes between them
    }
  }
}

void profile(int64_t batch, Table& table) {
  const Generation generation(Precision::kBF16);
  const ParallelCorpus sources = random_sources(batch);
  generation(sources, 1);
  const KernelProfile counted(kCard);
  generation(sources, 1);  // captured
  add_shares(fmt::format("batch {}", batch), counted, table);
}

}  // namespace

Tables cuda_generation(const Options& options, const PeerFigures& peers) {
  Tables tables = {Table("decoding on the card, Transformer 6+6 d512, bf16, 32 tokens",
                         {"batch", "beams", "ms", "tok/s", "transformers tok/s", "ours / transformers", "by hand tok/s",
                          "ours / by hand"}),
                   shares_table("where decoding goes")};
  if (std::string("generate").find(options.filter) == std::string::npos) return tables;
  const double worst = Generation(Precision::kF32).largest_gap(random_sources(8));
  fmt::print("generate: chosen tokens are at most {:.1e} below the likeliest\n", worst);
  if (!(worst < 1e-2)) wrong("the Transformer decodes wrongly on the card");
  check_repeats();
  const Generation generation(Precision::kBF16);
  for (const auto& [batch, beams] : {std::pair<int64_t, int64_t>{1, 1}, {64, 1}, {64, 5}, {512, 1}}) {
    const ParallelCorpus sources = random_sources(batch);
    const double seconds = time_on_card([&, &b = beams] { generation(sources, b); }, 2, options.quick ? 3 : 7);
    const std::string sizes = fmt::format("generate B{} beams{} ", batch, beams);
    const double packaged = peers.most({sizes, "transformers"}, "tok_s"),
                 by_hand = peers.most({sizes, "by hand"}, "tok_s");
    const double rate = static_cast<double>(batch * kTargetLength) / seconds;
    tables[0].add(batch, beams, seconds * 1e3, rate, packaged, packaged > 0 ? rate / packaged : 0, by_hand,
                  by_hand > 0 ? rate / by_hand : 0);
  }
  for (const int64_t batch : {64, 512}) profile(batch, tables[1]);
  return tables;
}

}  // namespace bench
