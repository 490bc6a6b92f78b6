#include "bench/training.h"

#include <fmt/format.h>

#include "base/threads.h"
#include "ops/ops.h"
#include "text/vocabulary.h"

namespace bench {

using namespace fovea;  // NOLINT(google-build-using-namespace): a benchmark uses most of the library's names

Training::Training(const std::string& name, Precision precision, const Sizes& sizes, Device device)
    : seq2seq(name, device, sizes),
      precision_(precision),
      source_(random_source(sizes.batch, device, sizes.length, sizes.vocabulary)),
      before_(random_tokens(sizes.length, sizes.batch, 2, device, sizes.vocabulary)),
      after_(random_tokens(sizes.length, sizes.batch, 3, device, sizes.vocabulary)),
      optimiser_(seq2seq.parameters, {}),
      tape_(device) {}

double Training::gradients() {
  const PrecisionScope scope(precision_);
  tape_.reset();
  const TapeScope tape_scope(tape_);
  const Var logits = seq2seq.model->teacher_force(source_, before_).logits;
  const Var loss = mean(cross_entropy(logits, after_, 0.0f, kPad, true));
  tape_.backward(loss);
  return to_host<float>(loss.value())[0];
}

void Training::step() {
  gradients();
  optimiser_.step(1e-3f);
}

bool is_training_worker(int argc, char** argv) { return argc >= 6 && std::string(argv[1]) == "--worker"; }

int run_training_worker(int argc, char** argv) {
  const std::string model = argv[3], precision = argv[4];
  set_thread_count(std::stoi(argv[5]));
  const double before = peak_memory_mb();
  const Sizes sizes = Sizes::from({argv + 6, static_cast<size_t>(argc - 6)});
  Training training(model, precision == "bf16" ? Precision::kBF16 : Precision::kF32, sizes);
  for (int i = 0; i < 3; ++i) training.step();
  const double millions = static_cast<double>(training.seq2seq.parameters.count()) / 1e6;
  serve({.name = fmt::format("fovea {} ({:.1f}M)", precision, millions),
         .calls = {{"step", [&] { training.step(); }}},
         .memory_before = before});
  return 0;
}

}  // namespace bench
