// A whole training step (forward, backward, Adam) of three encoder-decoders against PyTorch: batch 64, sentences of 25
// tokens. Each contender runs in a process of its own; they are timed in turns.
//   bench/train [--python PATH] [--threads N] [--quick] [--json FILE] [--filter luong]
// First the gradients of the model are checked against the reference backend's.
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "base/threads.h"
#include "bench/training.h"
#include "kernels/profile.h"

namespace {

using namespace fovea;  // NOLINT(google-build-using-namespace): a benchmark uses most of the library's names

using bench::Training;

constexpr int64_t kBatch = bench::Sizes().batch;

// Compares all gradients with the reference's, on a batch of two sentences.
void check(const std::string& name) {
  Training exact(name, Precision::kF32, {.batch = 2}, Device::reference());
  const double loss = exact.gradients();
  const auto expected = to_host<float>(exact.seq2seq.parameters.grads());
  for (const auto& [precision, most] : {std::pair{Precision::kF32, 1e-3}, {Precision::kBF16, 5e-2}}) {
    Training ours(name, precision, {.batch = 2});
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

// The time of a step by kernel.
void profile(const std::string& name, int threads, bench::Table& table) {
  set_thread_count(threads);
  Training training(name, Precision::kBF16, {});
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
  if (bench::is_training_worker(argc, argv)) return bench::run_training_worker(argc, argv);
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
