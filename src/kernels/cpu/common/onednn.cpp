#include "kernels/cpu/common/onednn.h"

#include <oneapi/dnnl/dnnl.h>

#include <unordered_map>

#include "base/signals.h"
#include "base/threads.h"
#include "kernels/cpu/common/processor.h"
#include "kernels/cpu/common/workspace.h"

namespace fovea::cpu {

using dnnl::memory;

namespace {

thread_local int depth = 0;

// Returns the instruction set that oneDNN may use, given that of our kernels: never AMX, and below AVX2 its minimum
// SSE4.1, which it checks for itself.
dnnl_cpu_isa_t onednn_isa(InstructionSet used) {
  switch (used) {
    case InstructionSet::kBaseline: return dnnl_cpu_isa_sse41;
    case InstructionSet::kAvx2: return dnnl_cpu_isa_avx2;
    case InstructionSet::kAvx512:
    case InstructionSet::kAmx: break;
  }
  return dnnl_cpu_isa_avx512_core_bf16;
}

dnnl::engine make_engine() {
  dnnl_set_max_cpu_isa(onednn_isa(processor().used));  // fails harmlessly if a primitive exists already
  return {dnnl::engine::kind::cpu, 0};
}

dnnl::stream& onednn_stream() {
  static thread_local dnnl::stream stream(onednn_engine());
  return stream;
}

struct KeyHash {
  size_t operator()(const PrimitiveKey& key) const {
    uint64_t h = 0;
    for (const int64_t part : key) {
      h = (h ^ static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15u;
      h ^= h >> 29;
    }
    return h;
  }
};

std::unordered_map<PrimitiveKey, std::unique_ptr<Prepared>, KeyHash>& primitive_cache() {
  static thread_local std::unordered_map<PrimitiveKey, std::unique_ptr<Prepared>, KeyHash> cache;
  return cache;
}

}  // namespace

int onednn_depth() { return depth; }
OneDnnScope::OneDnnScope() { ++depth; }
OneDnnScope::~OneDnnScope() { --depth; }

dnnl::engine& onednn_engine() {
  static auto& engine =
      *new dnnl::engine(make_engine());  // never destroyed, because packed weights may outlive static objects
  return engine;
}

Prepared::Prepared(const dnnl::primitive_desc_base& desc, const Arguments& arguments)
    : primitive_(desc.get()),
      implementation_(desc.impl_info_str()),
      scratchpad_bytes_(desc.scratchpad_desc().get_size()) {
  const auto add = [&](int id, const memory::desc& of) {
    memories_.emplace_back(of, onednn_engine(), nullptr);
    arguments_.push_back({id, memories_.back().get()});
  };
  for (const Argument& argument : arguments) add(argument.id, argument.desc);
  add(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
}

void Prepared::bind(size_t argument, const void* data) { memories_[argument].set_data_handle(const_cast<void*>(data)); }

void Prepared::run() {
  if (implemented_by(kBlocked)) return execute();
  const SignalsBlocked quiet;
  // The threads of the pool block signals in their first parallel region of ours. This ensures that they have run one,
  // since a surrounding OpenMP program may have started them.
  if (thread_count() > 1) parallel_parts(thread_count(), [](int, int) {});
  execute();
}

void Prepared::execute() {
  const OneDnnScope scope;
  if (scratchpad_bytes_ > 0) {
    memories_.back().set_data_handle(workspace<std::byte, struct OneDnnScratchpad>(scratchpad_bytes_));
  }
  const dnnl_status_t status = dnnl_primitive_execute(primitive_.get(), onednn_stream().get(),
                                                      static_cast<int>(arguments_.size()), arguments_.data());
  check(status == dnnl_success, "oneDNN: expected {} to succeed, got status {}", implementation_,
        static_cast<int>(status));
}

Prepared* find_primitive(const PrimitiveKey& key) {
  const auto& cache = primitive_cache();
  const auto found = cache.find(key);
  return found == cache.end() ? nullptr : found->second.get();
}

Prepared& cache_primitive(const PrimitiveKey& key, std::unique_ptr<Prepared> primitive) {
  constexpr size_t kMaxPrimitives = 1024;
  auto& cache = primitive_cache();
  if (cache.size() >= kMaxPrimitives) cache.clear();
  return *(cache[key] = std::move(primitive));
}

dnnl::primitive_attr with_our_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

}  // namespace fovea::cpu
