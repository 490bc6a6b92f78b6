// The threads of a block as fibres of one host thread.
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cuda/dot_attention_ways.h"
#include "kernels/cuda/emulated/cuda_runtime.h"
#include "kernels/cuda/product.h"

namespace fovea::cuda {

namespace emulated {

dim3 thread_index, block_index, block_size, grid_size;

namespace {

constexpr size_t kStack = 128 << 10;

struct Fibre {
  enum class Waits : uint8_t { kNo, kForWarp, kForBlock, kDone };
  ucontext_t context = {};  // where it begins
  jmp_buf place = {};       // where it goes on
  bool begun = false;
  std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStack);
  dim3 index;
  Waits waits = Waits::kNo;
  int meetings = 0;  // of the warp
};

struct Warp {  // what its lanes left behind, at this meeting and at the next
  uint64_t left[2][32];
  Words words[2][32];
};

struct alignas(128) Shared {
  std::byte bytes[227 << 10];
} shared;

std::vector<std::unique_ptr<Fibre>> fibres;
std::vector<Warp> warps;
ucontext_t scheduler;
jmp_buf scheduler_place;
size_t current = 0, count = 0;
const std::function<void()>* body = nullptr;

// Fibres change places by jumps, which unlike swapcontext do not ask the system anything.
void wait(Fibre::Waits what) {
  fibres[current]->waits = what;
  if (_setjmp(fibres[current]->place) == 0) _longjmp(scheduler_place, 1);
}

void begin() {
  (*body)();
  wait(Fibre::Waits::kDone);
}

void go_on(Fibre& fibre) {
  if (_setjmp(scheduler_place) != 0) return;
  if (fibre.begun) _longjmp(fibre.place, 1);
  fibre.begun = true;
  swapcontext(&scheduler, &fibre.context);
}

// Lets those go on who wait for a meeting that all who are left have come to.
void release(size_t first, size_t last, Fibre::Waits what) {
  for (size_t i = first; i < last; ++i) {
    if (fibres[i]->waits != what && fibres[i]->waits != Fibre::Waits::kDone) return;
  }
  for (size_t i = first; i < last; ++i) {
    if (fibres[i]->waits == what) fibres[i]->waits = Fibre::Waits::kNo;
  }
}

void run_block() {
  std::memset(shared.bytes, 0xFF, sizeof shared.bytes);
  for (size_t i = 0; i < count; ++i) {
    Fibre& fibre = *fibres[i];
    const auto n = static_cast<unsigned>(i);
    fibre.index = {n % block_size.x, n / block_size.x % block_size.y, n / block_size.x / block_size.y};
    fibre.waits = Fibre::Waits::kNo;
    fibre.meetings = 0;
    fibre.begun = false;
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack.get();
    fibre.context.uc_stack.ss_size = kStack;
    makecontext(&fibre.context, begin, 0);
  }
  // Threads take turns in an order of no meaning: where a result depends on it, a meeting is missing.
  static const bool backwards = std::getenv("FOVEA_EMULATE_BACKWARDS") != nullptr;
  for (bool left = true; left;) {
    left = false;
    bool ran = false;
    for (size_t k = 0; k < count; ++k) {
      current = backwards ? count - 1 - k : k;
      Fibre& fibre = *fibres[current];
      left = left || fibre.waits != Fibre::Waits::kDone;
      if (fibre.waits != Fibre::Waits::kNo) continue;
      ran = true;
      thread_index = fibre.index;
      go_on(fibre);
    }
    for (size_t w = 0; w < count; w += 32) release(w, std::min(w + 32, count), Fibre::Waits::kForWarp);
    release(0, count, Fibre::Waits::kForBlock);
    fovea::check(ran || !left, "cuda: expected all threads of a block to meet, got some that wait for ever");
  }
}

}  // namespace

void meet_block() { wait(Fibre::Waits::kForBlock); }

int lane() { return static_cast<int>(current % 32); }

const uint64_t* meet_warp(uint64_t own) {
  Warp& warp = warps[current / 32];
  uint64_t* left = warp.left[fibres[current]->meetings++ % 2];
  left[current % 32] = own;
  wait(Fibre::Waits::kForWarp);
  return left;
}

const Words* meet_warp(const Words& own) {
  Warp& warp = warps[current / 32];
  Words* left = warp.words[fibres[current]->meetings++ % 2];
  left[current % 32] = own;
  wait(Fibre::Waits::kForWarp);
  return left;
}

std::byte* shared_memory() { return shared.bytes; }

void run(const dim3& blocks, const dim3& threads, const std::function<void()>& kernel) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  count = size_t{threads.x} * threads.y * threads.z;
  while (fibres.size() < count) fibres.push_back(std::make_unique<Fibre>());
  warps.assign((count + 31) / 32, Warp{});
  grid_size = blocks;
  block_size = threads;
  body = &kernel;
  for (unsigned z = 0; z < blocks.z; ++z)
    for (unsigned y = 0; y < blocks.y; ++y)
      for (unsigned x = 0; x < blocks.x; ++x) {
        block_index = {x, y, z};
        run_block();
      }
}

}  // namespace emulated

bool multiply_by_library(Stream&, const ProductArgs&) { return false; }
bool attend_by_library(Stream&, const DotAttentionArgs&) { return false; }
bool attend_grad_by_library(Stream&, const DotAttentionGradArgs&) { return false; }

}  // namespace fovea::cuda
