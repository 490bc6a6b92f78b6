// Additive attention (scores, softmax over the keys, weighted sum), fused, against an unfused version that writes the
// tanh out and against PyTorch. Each contender runs in a process of its own; answers are checked before they are timed
// in turns.
//   bench/attention [--python PATH] [--threads N] [--quick] [--json FILE] [--filter T25]
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/threads.h"
#include "bench/additive_attention.h"
#include "bench/harness.h"
#include "bench/worker.h"

namespace {

using fovea::Device;
using fovea::Tensor;

constexpr const char* kResults[] = {"context", "dquery", "dkeys", "dvalues", "dv"};

// A temporary folder that is removed at the end of the run.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / fmt::format("fovea_attention_{}", getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// One of Fovea's contenders: attention --worker fused|unfused B T S D THREADS INPUTS RESULTS
int run_worker(char** arguments) {
  const auto number = [&](int i) { return static_cast<int64_t>(std::stoll(arguments[i])); };
  const std::string kind = arguments[0];
  const bench::AttentionSize size{number(1), number(2), number(3), number(4)};
  fovea::set_thread_count(static_cast<int>(number(5)));
  const bench::AttentionInputs inputs = bench::AttentionInputs::read(arguments[6], size);
  const double before = bench::peak_memory_mb();
  const auto attention = kind == "fused" ? bench::make_fused(inputs) : bench::make_unfused(inputs);
  attention->forward();
  attention->backward();
  bench::write_results(arguments[7], attention->results());
  bench::serve({.name = kind,
                .calls = {{"forward", [&] { attention->forward(); }},
                          {"both",
                           [&] {
                             attention->forward();
                             attention->backward();
                           }}},
                .memory_before = before});
  return 0;
}

// The largest distance between two tensors as a share of the largest element expected.
double distance(const Tensor& got, const Tensor& expected) {
  double most = 1e-30, apart = 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double x = got.data<float>()[i], y = expected.data<float>()[i];
    most = std::max(most, std::abs(y));
    apart = std::max(apart, std::isfinite(x) ? std::abs(x - y) : HUGE_VAL);
  }
  return apart / most;
}

struct Contender {
  std::unique_ptr<bench::Worker> worker;
  bench::AttentionResults results;
};

// Compares every contender with the reference on the first sentences, and with the first contender on all of them.
void check(const bench::AttentionInputs& inputs, const std::vector<Contender>& contenders) {
  constexpr int64_t kSentences = 2;
  const Device reference = Device::reference();
  const auto exact = bench::make_fused(inputs.first(kSentences, reference));
  exact->forward();
  exact->backward();
  for (const Contender& contender : contenders) {
    for (size_t i = 0; i < contender.results.size(); ++i) {
      const Tensor& x = contender.results[i];
      const bool sequence = x.rank() == 3;
      const double apart = distance(x, contenders[0].results[i]);
      const double off = sequence ? distance(bench::first_sentences(x, kSentences, reference), exact->results()[i]) : 0;
      if (std::max(apart, off) > 1e-4) {
        bench::wrong(fmt::format("{}: {} is {:.2g} from the expected", contender.worker->name(), kResults[i],
                                 std::max(apart, off)));
      }
    }
  }
}

struct Run {
  const bench::Options& options;
  std::string program;
  int threads;
};

std::vector<Contender> start(const Run& run, const bench::AttentionSize& size, const Folder& folder) {
  const auto arguments = [&](std::vector<std::string> command, const std::string& results) {
    for (const int64_t n : {size.batch, size.queries, size.keys, size.width, static_cast<int64_t>(run.threads)}) {
      command.push_back(std::to_string(n));
    }
    command.push_back(folder.file("inputs"));
    command.push_back(folder.file(results));
    return command;
  };
  std::vector<Contender> contenders;
  const auto add = [&](const std::vector<std::string>& command, const std::vector<std::string>& environment,
                       const std::string& results) {
    auto worker = std::make_unique<bench::Worker>(arguments(command, results), environment);
    if (worker->name().empty()) return;
    contenders.push_back({std::move(worker), bench::read_results(folder.file(results), size)});
    std::filesystem::remove(folder.file(results));
  };
  add({run.program, "--worker", "fused"}, {}, "fused");
  add({run.program, "--worker", "unfused"}, {}, "unfused");
  const bench::Peer peer = bench::peer(run.options, "additive_attention.py");
  add(peer.command, peer.environment, "peer");
  return contenders;
}

void measure(const Run& run, const bench::AttentionSize& size, bench::Table& table) {
  const Folder folder;
  const bench::AttentionInputs inputs = bench::AttentionInputs::random(size);
  inputs.write(folder.file("inputs"));
  const std::vector<Contender> contenders = start(run, size, folder);
  if (contenders.empty()) bench::wrong("no contender could be started");
  check(inputs, contenders);

  std::vector<bench::Worker*> workers;
  workers.reserve(contenders.size());
  for (const Contender& contender : contenders) workers.push_back(contender.worker.get());
  const int rounds = run.options.quick ? 3 : 7;
  const double least = run.options.quick ? 0.02 : 0.15;
  const auto time = [&](const std::string& what) { return bench::time_in_turns(workers, {what, rounds, least}); };
  const std::vector<double> forward = time("forward"), both = time("both");
  for (size_t i = 0; i < workers.size(); ++i) {
    const bench::Worker::Memory memory = workers[i]->memory();
    table.add(fmt::format("T{} S{}", size.queries, size.keys), workers[i]->name(), forward[i] * 1e3, both[i] * 1e3,
              forward[i] / forward[0], both[i] / both[0], memory.peak, memory.peak - memory.before);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 10 && std::string(argv[1]) == "--worker") return run_worker(argv + 2);
  const bench::Options options = bench::parse(argc, argv, "Additive attention: fused, unfused, and PyTorch's");
  const Run run{options, std::filesystem::read_symlink("/proc/self/exe"),
                options.threads > 0 ? options.threads : fovea::thread_count()};
  bench::Table table(fmt::format("additive attention, B32 D512, f32, {} threads", run.threads),
                     {"case", "contender", "forward ms", "fwd+bwd ms", "fwd ratio", "f+b ratio", "peak MB", "work MB"});
  for (const auto& [queries, keys] : {std::pair{1, 25}, {1, 100}, {25, 25}, {25, 100}, {25, 500}}) {
    if (options.quick && keys == 500) continue;
    if (fmt::format("T{} S{}", queries, keys).find(options.filter) == std::string::npos) continue;
    measure(run, {.queries = queries, .keys = keys}, table);
  }
  bench::report(options, {&table});
}
