// A step that runs out of memory is repeated in smaller parts, and training continues as if it had not happened.
//
// The parts of a batch add up to the same gradient, but for the order in which sums are rounded. Adam divides each
// gradient by its own magnitude: with a tiny epsilon the rounding of a gradient near 0 would decide the sign of a whole
// update. The runs compared here therefore have a large epsilon, no dropout, whose masks would differ, and products in
// f32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/files.h"
#include "kernels/kernels.h"
#include "store/safetensors.h"
#include "temporary_folder.h"
#include "tensor/cuda.h"
#include "train/small_run.h"

namespace fovea {
namespace {

enum class Pass { kForward, kBackward };

// As long as it lives, one pass over one part runs out of memory: the `part`-th of the run, counted from 1.
class OutOfMemoryOnce {
 public:
  OutOfMemoryOnce(Device device, Pass pass, int64_t part) : device_(device), table_(kernels(device)) {
    own_ = &kernels(device);
    pass_ = pass;
    parts_until_failure_ = part;
    table_.cross_entropy = +[](Stream& stream, const CrossEntropyArgs& args) {  // called once in each forward pass
      --parts_until_failure_;
      embedding_gradients_ = 0;
      if (pass_ == Pass::kForward) fail();
      own_->cross_entropy(stream, args);
    };
    // Called twice in each backward pass. At the second call the gradient of one embedding has been added already.
    table_.embedding_grad = +[](Stream& stream, const EmbeddingGradArgs& args) {
      if (pass_ == Pass::kBackward && ++embedding_gradients_ == 2) fail();
      own_->embedding_grad(stream, args);
    };
    replace_kernels(device_, &table_);
  }
  ~OutOfMemoryOnce() { replace_kernels(device_, nullptr); }
  OutOfMemoryOnce(const OutOfMemoryOnce&) = delete;
  OutOfMemoryOnce& operator=(const OutOfMemoryOnce&) = delete;

 private:
  static void fail() {
    if (parts_until_failure_ != 0) return;
    parts_until_failure_ = -1;
    throw OutOfMemory("out of memory: injected by a test");
  }

  Device device_;
  KernelTable table_;
  static inline const KernelTable* own_;
  static inline Pass pass_;
  static inline int64_t parts_until_failure_, embedding_gradients_;
};

class EveryStep : public Silent {
 public:
  void stepped(const StepReport& report) override {
    Silent::stepped(report);
    reports.push_back(report);
  }
  std::vector<StepReport> reports;
};

struct Outcome {
  std::map<std::string, std::string> metadata;
  std::vector<float> tensors;  // weights, both moments, the average of the weights
  std::vector<StepReport> reports;
  std::string messages;
};

Outcome run(Device device, int64_t accumulation) {
  const TemporaryFolder folder;
  Recipe r = small_recipe(folder.path());
  r.device = device.on_host() ? "cpu" : "cuda";
  r.threads = 1;
  r.model.dropout = 0;
  r.training.precision = "f32";
  r.training.optimiser = "adam";
  r.training.learning_rate = 0.01;
  r.training.epsilon = 0.01;
  r.training.accumulation = accumulation;
  r.training.ema = 0.9;
  r.training.steps = 6;
  r.report_every = 4;  // the failing step is neither the first nor the last of a report
  r.validation.every = 100;
  r.validation.metric = "loss";
  EveryStep listener;
  train(r, Start::kNew, &listener);
  const SafetensorsFile file(checkpoint_path(r.folder));
  const std::string bytes = read_file(file.path());
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  const size_t begin = sizeof header + header;
  std::vector<float> tensors((bytes.size() - begin) / sizeof(float));
  std::memcpy(tensors.data(), bytes.data() + begin, tensors.size() * sizeof(float));
  return {file.metadata(), tensors, listener.reports, listener.messages};
}

struct Failure {
  Device device;
  Pass pass;
  int64_t accumulation, batch;  // the batch of the third step that does not fit, counted from 1
};

void PrintTo(const Failure& f, std::ostream* out) {
  *out << (f.device.on_host() ? "cpu, " : "cuda, ") << (f.pass == Pass::kForward ? "forward" : "backward")
       << " pass of batch " << f.batch << " of " << f.accumulation;
}

class OutOfMemoryTest : public ::testing::TestWithParam<Failure> {};

TEST_P(OutOfMemoryTest, LeavesNoTraceInAnAdamStep) {
  const Failure failure = GetParam();
  const Outcome expected = run(failure.device, failure.accumulation);
  const Outcome got = [&] {
    const OutOfMemoryOnce once(failure.device, failure.pass, 2 * failure.accumulation + failure.batch);
    return run(failure.device, failure.accumulation);
  }();
  EXPECT_EQ(expected.messages.find("does not fit into memory"), std::string::npos);
  EXPECT_NE(got.messages.find("does not fit into memory"), std::string::npos);
  for (const char* key : {"step", "optimiser_steps", "epoch", "next_batch"}) {
    EXPECT_EQ(got.metadata.at(key), expected.metadata.at(key)) << key;
  }
  EXPECT_EQ(got.metadata.at("optimiser_steps"), "6");
  ASSERT_EQ(got.reports.size(), expected.reports.size());
  for (size_t i = 0; i < got.reports.size(); ++i) {
    EXPECT_EQ(got.reports[i].tokens, expected.reports[i].tokens) << "step " << i + 1;
    EXPECT_NEAR(got.reports[i].loss, expected.reports[i].loss, 1e-5) << "step " << i + 1;
  }
  ASSERT_EQ(got.tensors.size(), expected.tensors.size());
  float difference = 0;
  for (size_t i = 0; i < got.tensors.size(); ++i) {
    difference = std::max(difference, std::abs(got.tensors[i] - expected.tensors[i]));
  }
  EXPECT_LT(difference, 1e-5f);
}

// On a real card most steps are launched from CUDA graphs and call no kernel that could fail; emulated kernels are
// called.
std::vector<Failure> failures() {
  std::vector<Failure> all;
  const bool emulated = cuda::device_count() > 0 && !cuda::Graph::available(Device::cuda());
  for (const Device device : emulated ? std::vector{Device::cpu(), Device::cuda()} : std::vector{Device::cpu()}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      for (const auto& [accumulation, batch] : {std::pair{1, 1}, {3, 2}, {3, 3}}) {
        all.push_back({device, pass, accumulation, batch});
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Failures, OutOfMemoryTest, ::testing::ValuesIn(failures()));

}  // namespace
}  // namespace fovea
