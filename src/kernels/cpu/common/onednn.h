// oneDNN for products and convolutions in f32: primitives made once for each shape and kept by each
// thread, weights packed once for each version of their contents, working memory of ours.
//
// oneDNN is capped below AMX before its first primitive: the tile kernels of 2.6 die with SIGILL. Its older products
// ("gemm:jit", also inside convolutions) point the stack pointer at their workspace, so signals are blocked around
// everything but the blocked kernels (base/signals.h).
#pragma once

#include <array>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/threads.h"
#include "kernels/cpu/gemm/packed_weights.h"

namespace fovea::cpu {

// How deep this thread is inside calls to oneDNN, which allocates as it likes: whoever counts the heap
// allocations of the steady state leaves out those made while it is not 0.
int onednn_depth();
class OneDnnScope {
 public:
  OneDnnScope();
  ~OneDnnScope();
  OneDnnScope(const OneDnnScope&) = delete;
  OneDnnScope& operator=(const OneDnnScope&) = delete;
};

// While it lives, oneDNN works on the calling thread alone. It shares a sum out among threads where it
// sees fit; where that would change bits with their number, we cut the work and it stays on one.
class OneThread : ThreadCountScope {
 public:
  OneThread() : ThreadCountScope(1) {}
};

dnnl::engine& onednn_engine();

// What the names of the blocked kernels (brgemm) begin with.
constexpr std::string_view kBlocked = "brg";

// ---- products ----------------------------------------------------------------------------------

// A weight in the layout oneDNN likes best.
struct F32Pack;
// Null where oneDNN has no such layout on this machine. The matrix may be kept (Packs::may_keep) and f32.
const F32Pack* packed_weight_f32(const Matrix& b, int64_t n, int64_t k);

// c (+)= alpha * a b + bias: strides are those of the stored rows.
struct F32Product {
  const float* a = nullptr;
  const float* b = nullptr;
  const F32Pack* pack = nullptr;  // of b, or none
  const float* bias = nullptr;
  float* c = nullptr;
  int64_t m = 0, n = 0, k = 0;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  bool a_transposed = false, b_transposed = false;
  float alpha = 1.0f;
  bool accumulate = false;
};
// On all threads; k > 0.
void multiply_f32(const F32Product& product);

// ---- primitives --------------------------------------------------------------------------------

struct Argument {
  int id;  // DNNL_ARG_*
  dnnl::memory::desc desc;
};
using Arguments = std::vector<Argument>;

// A primitive with the memory objects it is run on. Not to be shared between threads.
class Prepared {
 public:
  Prepared(const dnnl::primitive_desc_base& desc, const Arguments& arguments);

  // Whether the implementation's name begins so.
  bool implemented_by(std::string_view name) const { return implementation_.starts_with(name); }

  dnnl::memory::desc desc(size_t argument) const { return memories_[argument].get_desc(); }

  // Arguments by their place in the list. A packed memory is passed as it is: giving its address to
  // another would have oneDNN write its padding anew each time.
  void bind(size_t argument, const void* data);
  void bind(size_t argument, const dnnl::memory& memory) { arguments_[argument].memory = memory.get(); }
  void run();

 private:
  void execute();

  dnnl::primitive primitive_;
  std::string implementation_;
  size_t scratchpad_bytes_;
  std::vector<dnnl::memory> memories_;      // the last is the scratchpad
  std::vector<dnnl_exec_arg_t> arguments_;  // in the same order
};

// This thread's primitive of a kind and shape, made by make() -> std::unique_ptr<Prepared> when it is new.
// The number of threads belongs to the shape, for oneDNN plans with it.
using PrimitiveKey = std::array<int64_t, 20>;
Prepared* find_primitive(const PrimitiveKey& key);
Prepared& keep_primitive(const PrimitiveKey& key, std::unique_ptr<Prepared> made);
template <class Make> Prepared& primitive(const PrimitiveKey& key, Make&& make) {
  if (Prepared* found = find_primitive(key)) return *found;
  const OneDnnScope scope;
  return keep_primitive(key, make());
}

dnnl::primitive_attr with_our_scratchpad();

}  // namespace fovea::cpu
