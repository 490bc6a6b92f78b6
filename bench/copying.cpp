// What copying adds to a training step (forward, backward, Adam): batch 64, sentences of 25 tokens, the models of
// bench/train. The losses are first compared with those of the whole distribution.
//   bench/copying [--threads N] [--quick] [--json FILE] [--filter bahdanau]
#include <fmt/format.h>

#include <cmath>

#include "base/threads.h"
#include "bench/harness.h"
#include "bench/seq2seq.h"
#include "ops/ops.h"
#include "text/vocabulary.h"
#include "train/optimiser.h"

namespace {

using namespace fovea;  // NOLINT(google-build-using-namespace): a benchmark uses most of the library's names

constexpr int64_t kBatch = 64;

struct Variant {
  const char *name, *copy, *attention;
};
constexpr Variant kVariants[] = {{"none", "none", "cross"},
                                 {"mixture, cross attention", "mixture", "cross"},
                                 {"mixture, own attention", "mixture", "own"},
                                 {"pointer, own attention", "pointer", "own"}};

class Training {
 public:
  Training(const std::string& name, const Variant& variant)
      : source_(bench::random_source(kBatch)),
        before_(bench::random_tokens(bench::kLength, kBatch, 2, Device::cpu())),
        after_(bench::random_tokens(bench::kLength, kBatch, 3, Device::cpu())) {
    ModelConfig config = bench::model_config(name);
    config.copy = variant.copy;
    config.copy_attention = variant.attention;
    model_ = make_model(parameters_, config, {bench::kVocabulary, bench::kVocabulary});
    parameters_.allocate(1);
    source_.copied = bench::random_tokens(kBatch, bench::kLength, 4, Device::cpu());
    optimiser_.emplace(parameters_, OptimiserOptions{});
  }
  Var loss() const {
    const KnownTargets targets{.ids = after_, .generated = {}, .smoothing = 0.0f, .ignore = kPad};
    const TeacherForced forced = model_->teacher_force(source_, before_, {}, {}, &targets);
    return mean(forced.losses ? forced.losses : cross_entropy(forced.logits, after_, 0.0f, kPad, true));
  }
  void step() {
    const PrecisionScope scope(Precision::kBF16);
    tape_.reset();
    {
      const TapeScope tape_scope(tape_);
      tape_.backward(loss());
    }
    optimiser_->step(1e-3f);
  }
  // The difference between the loss and that of the whole distribution.
  double error() const {
    const Var whole = mean(cross_entropy(model_->teacher_force(source_, before_).logits, after_, 0.0f, kPad));
    return std::abs(to_host<float>(whole.value())[0] - to_host<float>(loss().value())[0]);
  }

 private:
  Parameters parameters_{Device::cpu()};
  std::unique_ptr<EncoderDecoder> model_;
  Source source_;
  Tensor before_, after_;
  std::optional<Optimiser> optimiser_;
  Tape tape_{Device::cpu()};
};

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse(argc, argv, "What copying adds to a training step");
  if (options.threads > 0) set_thread_count(options.threads);
  bench::Table table(fmt::format("training with copying, batch {}, {} tokens, {} threads, bf16", kBatch, bench::kLength,
                                 thread_count()),
                     {"model", "copying", "step ms", "of none"});
  for (const std::string name : bench::kModels) {
    if (name.find(options.filter) == std::string::npos) continue;
    std::vector<std::unique_ptr<Training>> trainings;
    std::vector<std::function<void()>> contenders;
    for (const Variant& variant : kVariants) {
      Training& training = *trainings.emplace_back(std::make_unique<Training>(name, variant));
      if (!(training.error() < 1e-3)) bench::wrong(fmt::format("{} {}: a wrong loss", name, variant.name));
      contenders.emplace_back([&training] { training.step(); });
    }
    const std::vector<bench::Timing> times = bench::measure(options, contenders);
    for (size_t i = 0; i < times.size(); ++i) {
      table.add(name, std::string(kVariants[i].name), times[i].median * 1e3, bench::ratio(times[i], times[0]));
    }
  }
  bench::report(options, {&table});
}
