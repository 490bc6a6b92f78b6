// A whole training step (forward, backward, Adam) of three encoder-decoders against PyTorch: batch 64, sentences of 25
// tokens. Each contender runs in a process of its own; they are timed in turns.
//   bench/train [--python PATH] [--threads N] [--quick] [--json FILE] [--filter luong]
// First the gradients of the model are checked against the reference backend's.
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "base/threads.h"
#include "bench/seq2seq.h"
#include "kernels/profile.h"
#include "ops/ops.h"
#include "text/vocabulary.h"
#include "train/optimiser.h"

namespace {

using namespace fovea;  // NOLINT(google-build-using-namespace): a benchmark uses most of the library's names

constexpr int64_t kBatch = 64;

Var loss_of(const EncoderDecoder& model, const Source& source, const Tensor& before, const Tensor& after) {
  return mean(cross_entropy(model.teacher_force(source, before).logits, after, 0.0f, kPad, true));
}

class Training {
 public:
  Training(const std::string& name, Precision precision, int64_t batch, Device device = Device::cpu())
      : seq2seq(name, device),
        precision_(precision),
        source_(bench::random_source(batch, device)),
        before_(bench::random_tokens(bench::kLength, batch, 2, device)),
        after_(bench::random_tokens(bench::kLength, batch, 3, device)),
        optimiser_(seq2seq.parameters, {}),
        tape_(device) {}

  double gradients() {
    const PrecisionScope scope(precision_);
    tape_.reset();
    const TapeScope tape_scope(tape_);
    const Var loss = loss_of(*seq2seq.model, source_, before_, after_);
    tape_.backward(loss);
    return to_host<float>(loss.value())[0];
  }
  void step() {
    gradients();
    optimiser_.step(1e-3f);
  }

  bench::Seq2Seq seq2seq;

 private:
  Precision precision_;
  Source source_;
  Tensor before_, after_;
  Optimiser optimiser_;
  Tape tape_;
};

// Compares all gradients with the reference's, on a batch of two sentences.
void check(const std::string& name) {
  Training exact(name, Precision::kF32, 2, Device::reference());
  const double loss = exact.gradients();
  const auto expected = to_host<float>(exact.seq2seq.parameters.grads());
  for (const auto& [precision, most] : {std::pair{Precision::kF32, 1e-3}, {Precision::kBF16, 5e-2}}) {
    Training ours(name, precision, 2);
    const double off = std::abs(ours.gradients() - loss);
    const auto got = to_host<float>(ours.seq2seq.parameters.grads());
    double apart = 0, length = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      apart += std::pow(static_cast<double>(got[i]) - expected[i], 2);
      length += std::pow(static_cast<double>(expected[i]), 2);
    }
    const double share = std::sqrt(apart / length);
    fmt::print("{} {}: gradients {:.1e} from the reference's, loss {:.1e}\n", name,
               precision == Precision::kF32 ? "f32" : "bf16", share, off);
    if (!(share < most) || !(off < most)) bench::wrong(name + " trains wrongly");
  }
}

// train --worker train MODEL PRECISION THREADS
int run_worker(char** arguments) {
  set_thread_count(std::stoi(arguments[3]));
  const std::string precision = arguments[2];
  const double before = bench::peak_memory_mb();
  Training training(arguments[1], precision == "bf16" ? Precision::kBF16 : Precision::kF32, kBatch);
  for (int i = 0; i < 3; ++i) training.step();
  bench::serve({.name = fmt::format("fovea {} ({:.1f}M)", precision,
                                    static_cast<double>(training.seq2seq.parameters.count()) / 1e6),
                .calls = {{"step", [&] { training.step(); }}},
                .memory_before = before});
  return 0;
}

// The time of a step by kernel.
void profile(const std::string& name, int threads, bench::Table& table) {
  set_thread_count(threads);
  Training training(name, Precision::kBF16, kBatch);
  for (int i = 0; i < 3; ++i) training.step();
  const KernelProfile counted(Device::cpu());
  constexpr int kSteps = 5;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kSteps; ++i) training.step();
  const double total = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / kSteps;
  double rest = total;
  for (const KernelProfile::Entry& entry : counted.entries()) {
    const double seconds = entry.seconds / kSteps;
    rest -= seconds;
    if (seconds < 0.005 * total) continue;
    table.add(name, entry.name, static_cast<double>(entry.calls) / kSteps, seconds * 1e3, 100 * seconds / total);
  }
  table.add(name, "between kernels", 0, rest * 1e3, 100 * rest / total);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "--worker") return run_worker(argv + 2);
  const bench::Options options = bench::parse(argc, argv, "Training steps of encoder-decoders: ours and PyTorch's");
  const int threads = options.threads > 0 ? options.threads : thread_count();
  bench::Table table(fmt::format("training, batch {}, {} tokens, {} threads", kBatch, bench::kLength, threads),
                     {"model", "contender", "step ms", "target tok/s", "ours / it", "peak MB"});
  for (const std::string name : bench::kModels) {
    if (name.find(options.filter) == std::string::npos) continue;
    check(name);
    const auto contenders = bench::start_contenders(options, name, "train", threads);
    std::vector<bench::Worker*> workers;
    workers.reserve(contenders.size());
    for (const auto& contender : contenders) workers.push_back(contender.get());
    const std::vector<double> times =
        bench::time_in_turns(workers, {"step", options.quick ? 3 : 7, options.quick ? 0.1 : 1.0});
    for (size_t i = 0; i < workers.size(); ++i) {
      table.add(name, workers[i]->name(), times[i] * 1e3, static_cast<double>(kBatch * bench::kLength) / times[i],
                times[i] / times[0], workers[i]->memory().peak);
    }
  }
  bench::Table shares("where a step of fovea bf16 goes", {"model", "kernel", "calls", "ms", "percent"});
  for (const std::string name : bench::kModels) {
    if (name.find(options.filter) != std::string::npos) profile(name, threads, shares);
  }
  bench::report(options, {&table, &shares});
}
