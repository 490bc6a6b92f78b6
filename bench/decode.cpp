// Greedy decoding of 25 tokens with three encoder-decoders against PyTorch, one sentence and 32 at a time. Each
// contender runs in a process of its own; they are timed in turns.
//   bench/decode [--python PATH] [--threads N] [--quick] [--json FILE] [--filter luong]
// Before that, outputs are checked: each token must be the likeliest one after its prefix.
//   bench/decode --peer ctranslate2 --text FILE [--model models/en-zh]     a shipped model against CTranslate2
#include <fmt/format.h>

#include <algorithm>

#include "base/threads.h"
#include "bench/decode_peer.h"
#include "bench/seq2seq.h"
#include "decode/search.h"
#include "ops/ops.h"

namespace {

using namespace fovea;  // NOLINT(google-build-using-namespace): a benchmark uses most of the library's names

constexpr int64_t kBatches[] = {1, 32};

class Decoding {
 public:
  Decoding(const std::string& name, Precision precision) : seq2seq_(name), precision_(precision) {
    for (const int64_t batch : kBatches) {
      const auto ids = to_host<int32_t>(bench::random_source(batch).ids);
      ParallelCorpus& corpus = corpora_.emplace_back();
      for (int64_t b = 0; b < batch; ++b) {
        std::vector<int32_t> sentence;
        for (int64_t s = 0; s < bench::kLength; ++s) sentence.push_back(ids[static_cast<size_t>(s * batch + b)]);
        corpus.source.append(sentence);
        corpus.lines.push_back(b);
      }
    }
  }

  // Decodes exactly kLength steps: with an earlier end of sentence both sides would do different work.
  std::vector<std::vector<Hypothesis>> decode(size_t which) const {
    const PrecisionScope scope(precision_);
    const EncoderDecoder* model = seq2seq_.model.get();
    BatchOptions batches;
    batches.end_source = false;
    batches.shuffle = false;
    SearchOptions options;
    options.max_length = bench::kLength;
    options.min_length = bench::kLength - 1;
    return search({&model, 1}, corpora_[which], batches, options, Device::cpu());
  }

  // The log-probability of a chosen token may not be far below that of the likeliest one.
  void check(const std::string& name) const {
    const auto found = decode(1);
    const int64_t batch = kBatches[1];
    std::vector<int32_t> before(static_cast<size_t>(bench::kLength * batch));
    for (int64_t b = 0; b < batch; ++b) {
      const auto& words = found[static_cast<size_t>(b)].front().ids;
      if (static_cast<int64_t>(words.size()) < bench::kLength - 1) bench::wrong(name + " decodes too few tokens");
      for (int64_t t = 0; t < bench::kLength; ++t) {
        before[static_cast<size_t>(t * batch + b)] = t == 0 ? kBegin : words[static_cast<size_t>(t - 1)];
      }
    }
    const Tensor target = from_host(before, {bench::kLength, batch}, Device::cpu());
    const Var logits = seq2seq_.model->teacher_force(bench::random_source(batch), target).logits;
    double worst = 0;
    for (int64_t t = 0; t + 1 < bench::kLength; ++t) {
      for (int64_t b = 0; b < batch; ++b) {
        const float* row = logits.value().data<float>() + (t * batch + b) * bench::kVocabulary;
        const int32_t chosen = found[static_cast<size_t>(b)].front().ids[static_cast<size_t>(t)];
        // Special tokens were excluded from decoding.
        worst = std::max(
            worst, static_cast<double>(*std::max_element(row + kEnd + 1, row + bench::kVocabulary) - row[chosen]));
      }
    }
    fmt::print("{}: chosen tokens are at most {:.1e} below the likeliest\n", name, worst);
    if (!(worst < 0.05)) bench::wrong(name + " decodes wrongly");
  }

 private:
  bench::Seq2Seq seq2seq_;
  Precision precision_;
  std::vector<ParallelCorpus> corpora_;
};

// decode --worker decode MODEL PRECISION THREADS
int run_worker(char** arguments) {
  set_thread_count(std::stoi(arguments[3]));
  const std::string precision = arguments[2];
  const double before = bench::peak_memory_mb();
  const Decoding decoding(arguments[1], precision == "int8"   ? Precision::kInt8
                                        : precision == "bf16" ? Precision::kBF16
                                                              : Precision::kF32);
  bench::serve({.name = fmt::format("fovea {}", precision),
                .calls = {{"1", [&] { decoding.decode(0); }}, {"32", [&] { decoding.decode(1); }}},
                .memory_before = before});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "--worker") return run_worker(argv + 2);
  if (argc == 7 && std::string(argv[1]) == "--translator") return bench::run_translator(argv + 2);
  const bench::Options options = bench::parse(argc, argv, "Decoding: ours and PyTorch's, or CTranslate2's");
  if (options.peer == "ctranslate2") {
    bench::compare_with_ctranslate2(options);
    return 0;
  }
  if (!options.peer.empty()) bench::wrong("--peer: expected ctranslate2, got " + options.peer);
  const int threads = options.threads > 0 ? options.threads : thread_count();
  bench::Table table(fmt::format("greedy decoding, {} tokens, {} threads", bench::kLength, threads),
                     {"model", "contender", "batch", "ms", "tok/s", "ours / it", "peak MB"});
  for (const std::string name : bench::kModels) {
    if (name.find(options.filter) == std::string::npos) continue;
    for (const auto& [precision, precision_name] :
         {std::pair{Precision::kF32, "f32"}, {Precision::kBF16, "bf16"}, {Precision::kInt8, "int8"}}) {
      Decoding(name, precision).check(name + " in " + precision_name);
    }
    const auto contenders = bench::start_contenders(options, name, "decode", threads);
    std::vector<bench::Worker*> workers;
    workers.reserve(contenders.size());
    for (const auto& contender : contenders) workers.push_back(contender.get());
    for (const int64_t batch : kBatches) {
      const std::vector<double> times =
          bench::time_in_turns(workers, {std::to_string(batch), options.quick ? 3 : 9, options.quick ? 0.05 : 0.3});
      for (size_t i = 0; i < workers.size(); ++i) {
        table.add(name, workers[i]->name(), batch, times[i] * 1e3,
                  static_cast<double>(batch * bench::kLength) / times[i], times[i] / times[0],
                  workers[i]->memory().peak);
      }
    }
  }
  bench::report(options, {&table});
}
