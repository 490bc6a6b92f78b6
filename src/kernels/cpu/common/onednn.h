// oneDNN for GEMMs of activations and for convolutions, in f32. Each thread caches a primitive for each shape, filters
// are packed once for each version of their contents, and the workspace is ours.
//
// oneDNN is capped below AMX before its first primitive, because the tile kernels of version 2.6 crash with SIGILL. Its
// older GEMMs ("gemm:jit", also used inside convolutions) point the stack pointer at their workspace, so signals are
// blocked around everything but the blocked kernels (base/signals.h).
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

// The depth of this thread's calls to oneDNN, which allocates from the heap: tests that count the heap allocations of
// the steady state ignore those made while it is not 0.
int onednn_depth();
class OneDnnScope {
 public:
  OneDnnScope();
  ~OneDnnScope();
  OneDnnScope(const OneDnnScope&) = delete;
  OneDnnScope& operator=(const OneDnnScope&) = delete;
};

// Within the scope, oneDNN uses the calling thread alone. oneDNN may split a sum among threads; where this would make
// the bits depend on their number, we split the work ourselves and run each part on one thread.
class OneThread : ThreadCountScope {
 public:
  OneThread() : ThreadCountScope(1) {}
};

dnnl::engine& onednn_engine();

// The common prefix of the names of the blocked kernels (brgemm).
constexpr std::string_view kBlocked = "brg";

// ---- products ----------------------------------------------------------------------------------

// c (+)= alpha * a b + bias; the strides are those of the stored rows.
struct F32Product {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* bias = nullptr;
  float* c = nullptr;
  int64_t m = 0, n = 0, k = 0;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  bool a_transposed = false, b_transposed = false;
  float alpha = 1.0f;
  bool accumulate = false;
};
// Runs on all threads; k > 0.
void multiply_f32(const F32Product& product);

// ---- primitives --------------------------------------------------------------------------------

struct Argument {
  int id;  // DNNL_ARG_*
  dnnl::memory::desc desc;
};
using Arguments = std::vector<Argument>;

// A primitive with the memory objects that it runs on. It must not be shared between threads.
class Prepared {
 public:
  Prepared(const dnnl::primitive_desc_base& desc, const Arguments& arguments);

  // Returns whether the name of the implementation has this prefix.
  bool implemented_by(std::string_view name) const { return implementation_.starts_with(name); }

  dnnl::memory::desc desc(size_t argument) const { return memories_[argument].get_desc(); }

  // Sets the arguments by their position in the list. A packed memory object is passed itself: giving its address to
  // another one would make oneDNN rewrite the padding each time.
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

// Returns this thread's primitive of a kind and shape, created by make() -> std::unique_ptr<Prepared> on first use. The
// number of threads is part of the shape, because oneDNN plans with it.
using PrimitiveKey = std::array<int64_t, 20>;
Prepared* find_primitive(const PrimitiveKey& key);
Prepared& cache_primitive(const PrimitiveKey& key, std::unique_ptr<Prepared> primitive);
template <class Make> Prepared& primitive(const PrimitiveKey& key, Make&& make) {
  if (Prepared* found = find_primitive(key)) return *found;
  const OneDnnScope scope;
  return cache_primitive(key, make());
}

dnnl::primitive_attr with_our_scratchpad();

}  // namespace fovea::cpu
