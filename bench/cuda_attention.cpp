// Attention alone, forward and backward: additive scores, and scaled dot products.
#include <fmt/format.h>

#include <cmath>

#include "base/random.h"
#include "bench/cuda.h"
#include "ops/ops.h"

namespace bench {

namespace {

using namespace fovea;  // NOLINT(google-build-using-namespace): a benchmark uses most of the library's names

struct Sizes {
  int64_t batch, heads, queries, keys, depth;  // depth: of all heads
  bool causal = false;
  std::string text() const {
    return fmt::format("B{} H{} T{} S{} D{}{}", batch, heads, queries, keys, depth, causal ? " causal" : "");
  }
};

Tensor random_tensor(const Shape& shape, uint64_t seed, DType dtype, Device device) {
  Random random(seed);
  std::vector<float> x(static_cast<size_t>(shape.count()));
  for (float& v : x) v = static_cast<float>(random.uniform(-1.0, 1.0));
  return cast(Var(from_host(x, shape, device)), dtype).value();
}

// One attention with its inputs and its last result.
class AttentionRun {
 public:
  AttentionRun(const Sizes& s, bool additive, DType dtype, Device device)
      : sizes_(s),
        additive_(additive),
        query_(random_tensor({s.queries, s.batch, s.depth}, 1, dtype, device)),
        keys_(random_tensor({s.keys, s.batch, s.depth}, 2, dtype, device)),
        values_(random_tensor({s.keys, s.batch, s.depth}, 3, dtype, device)),
        dout_(random_tensor({s.queries, s.batch, s.depth}, 4, dtype, device)),
        v_(random_tensor({s.depth}, 5, accumulator_of(dtype), device)),
        tape_(device) {}

  Var forward(const Var& query, const Var& keys, const Var& values, const Var& v) const {
    if (additive_) return weighted_sum(softmax(additive_score(query, keys, v, sizes_.heads)), values);
    return dot_attention(query, keys, values, {.heads = sizes_.heads, .mask = {.causal = sizes_.causal}}).out;
  }
  void forward() {
    tape_.reset();
    const TapeScope tape_scope(tape_);
    last_ = forward(Var(query_), Var(keys_), Var(values_), Var(v_)).value();
  }
  void both() {
    tape_.reset();
    const TapeScope tape_scope(tape_);
    Gradient gradients[] = {Gradient(query_), Gradient(keys_), Gradient(values_), Gradient(v_)};
    const Var out = forward(Var(query_, &gradients[0]), Var(keys_, &gradients[1]), Var(values_, &gradients[2]),
                            Var(v_, &gradients[3]));
    const Tape::Seed seed{out, dout_};
    tape_.backward(std::span(&seed, 1));
    last_ = gradients[1].sum;
  }
  std::vector<float> last() const { return to_host<float>(cast(Var(last_), DType::kF32).value()); }
  double megabytes() const { return static_cast<double>(tape_.peak_bytes()) / 1e6; }

 private:
  Sizes sizes_;
  bool additive_;
  Tensor query_, keys_, values_, dout_, v_, last_;
  Tape tape_;
};

// Compares the context and the keys' gradient of a smaller attention of the same kind with the reference's.
void check(const Sizes& sizes, bool additive, DType dtype) {
  Sizes small = sizes;
  small.batch = 1;
  small.queries = std::min<int64_t>(small.queries, 70);
  small.keys = std::min<int64_t>(small.keys, 90);
  const double most = dtype == DType::kF32 ? 2e-3 : 3e-2;  // products of f32 are in tf32
  for (const bool back : {false, true}) {
    AttentionRun exact(small, additive, DType::kF32, Device::reference()), ours(small, additive, dtype, kCard);
    back ? exact.both() : exact.forward();
    back ? ours.both() : ours.forward();
    const double off = distance(ours.last(), exact.last());
    if (!(off < most)) wrong(fmt::format("{} {}: {:.1e} from the reference", sizes.text(), name_of(dtype), off));
  }
}

}  // namespace

Tables cuda_attention(const Options& options, const PeerFigures& peers) {
  Tables tables = {Table("additive attention", {"sizes", "type", "forward ms", "G tanh/s", "both ms", "MB",
                                                "PyTorch forward", "both", "both it / ours"}),
                   Table("scaled dot attention", {"sizes", "forward ms", "TFLOP/s", "both ms", "TFLOP/s",
                                                  "PyTorch forward", "both", "both it / ours"})};
  if (std::string("attention").find(options.filter) == std::string::npos) return tables;
  const PrecisionScope precision(Precision::kBF16);
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    for (const Sizes& s : {Sizes{64, 1, 1, 50, 512}, Sizes{64, 1, 32, 32, 512}, Sizes{16, 1, 512, 512, 512},
                           Sizes{4, 1, 2048, 2048, 512}}) {
      check(s, true, dtype);
      AttentionRun ours(s, true, dtype, kCard);
      const double forward = time_on_card([&] { ours.forward(); }), both = time_on_card([&] { ours.both(); });
      const auto cells = static_cast<double>(s.batch * s.queries * s.keys * s.depth);
      const std::vector<std::string> words = {fmt::format("additive {}", name_of(dtype)),
                                              fmt::format("B{} T{} S{} D{}", s.batch, s.queries, s.keys, s.depth)};
      const double peer = peers.least(words, "fwdbwd_ms");
      tables[0].add(s.text(), name_of(dtype), forward * 1e3, cells / forward / 1e9, both * 1e3, ours.megabytes(),
                    peers.least(words, "fwd_ms"), peer, peer / (both * 1e3));
    }
  }
  for (const Sizes& s : {Sizes{256, 8, 32, 32, 512}, Sizes{64, 8, 64, 64, 512}, Sizes{32, 8, 512, 512, 512, true},
                         Sizes{16, 16, 2048, 2048, 1024, true}, Sizes{16, 16, 2048, 2048, 2048}}) {
    check(s, false, DType::kBF16);
    AttentionRun ours(s, false, DType::kBF16, kCard);
    const int repeats = s.queries > 512 ? 5 : 20;
    const double forward = time_on_card([&] { ours.forward(); }, 2, repeats);
    const double both = time_on_card([&] { ours.both(); }, 2, repeats);
    const double work =
        4.0 * static_cast<double>(s.batch * s.queries * s.keys * s.depth) * (s.causal ? 0.5 : 1.0) / 1e12;
    const std::vector<std::string> words = {"sdpa", fmt::format("B{} H{} T{} d{} causal{}", s.batch, s.heads, s.queries,
                                                                s.depth / s.heads, s.causal ? "True" : "False")};
    const double peer = peers.least(words, "fwdbwd_ms");
    tables[1].add(s.text(), forward * 1e3, work / forward, both * 1e3, 3.5 * work / both, peers.least(words, "fwd_ms"),
                  peer, peer / (both * 1e3));
  }
  return tables;
}

}  // namespace bench
