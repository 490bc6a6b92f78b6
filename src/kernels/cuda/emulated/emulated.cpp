// The threads of a block, run as fibres of one host thread.
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cuda/attention/dot_attention_variants.h"
#include "kernels/cuda/emulated/cuda_runtime.h"
#include "kernels/cuda/gemm/gemm.h"

namespace fovea::cuda {

namespace emulated {

dim3 thread_index, block_index, block_size, grid_size;

namespace {

constexpr size_t kStack = 128 << 10;

struct Fibre {
  enum class Waits : uint8_t { kNo, kForWarp, kForBlock, kForCluster, kDone };
  ucontext_t context = {};  // initial context
  jmp_buf place = {};       // saved position while suspended
  bool begun = false;
  std::unique_ptr<std::byte[]> stack{new std::byte[kStack]};
  dim3 index, block;
  Waits waits = Waits::kNo;
  int barriers = 0;  // number of warp barriers passed
};

struct Warp {  // the values of its lanes at this barrier and at the next
  uint64_t left[2][32];
  Words words[2][32];
};

struct alignas(128) Shared {
  std::byte bytes[227 << 10];
};

// All resident blocks, one after the other.
std::vector<std::unique_ptr<Fibre>> fibres;
std::vector<Warp> warps;
std::vector<Shared> shared;
ucontext_t scheduler;
jmp_buf scheduler_place;
size_t current = 0, block_count = 0, cluster_size = 1;  // running thread; threads per block; blocks per cluster
bool paused = false;
const std::function<void()>* body = nullptr;

// Fibres switch with longjmp, which unlike swapcontext makes no system calls.
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

// Resumes the threads that wait for a barrier at which all remaining threads have arrived.
void release(size_t first, size_t last, Fibre::Waits what) {
  for (size_t i = first; i < last; ++i) {
    if (fibres[i]->waits != what && fibres[i]->waits != Fibre::Waits::kDone) return;
  }
  for (size_t i = first; i < last; ++i) {
    if (fibres[i]->waits == what) fibres[i]->waits = Fibre::Waits::kNo;
  }
}

size_t warps_of_block() { return (block_count + 31) / 32; }

// Sets up a fibre for each thread of these blocks.
void prepare(const std::vector<dim3>& blocks) {
  const size_t count = blocks.size() * block_count;
  while (fibres.size() < count) fibres.push_back(std::make_unique<Fibre>());
  warps.assign(blocks.size() * warps_of_block(), Warp{});
  shared.resize(std::max(shared.size(), blocks.size()));
  std::memset(shared.data(), 0xFF, blocks.size() * sizeof(Shared));
  for (size_t i = 0; i < count; ++i) {
    Fibre& fibre = *fibres[i];
    const auto n = static_cast<unsigned>(i % block_count);
    fibre.index = {n % block_size.x, n / block_size.x % block_size.y, n / block_size.x / block_size.y};
    fibre.block = blocks[i / block_count];
    fibre.waits = Fibre::Waits::kNo;
    fibre.barriers = 0;
    fibre.begun = false;
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack.get();
    fibre.context.uc_stack.ss_size = kStack;
    makecontext(&fibre.context, begin, 0);
  }
}

void run_blocks(const std::vector<dim3>& blocks) {
  prepare(blocks);
  const size_t count = blocks.size() * block_count;
  // Threads run in a shuffled order: a result that depends on it reveals a missing barrier.
  static const bool backwards = std::getenv("FOVEA_EMULATE_BACKWARDS") != nullptr;
  constexpr int kMaxIdleRounds = 1000;  // rounds in which all threads only poll before a deadlock is reported
  int idle = 0;
  for (bool left = true; left;) {
    left = false;
    bool ran = false;
    for (size_t k = 0; k < count; ++k) {
      current = backwards ? count - 1 - k : k;
      Fibre& fibre = *fibres[current];
      left = left || fibre.waits != Fibre::Waits::kDone;
      if (fibre.waits != Fibre::Waits::kNo) continue;
      paused = false;
      thread_index = fibre.index;
      block_index = fibre.block;
      go_on(fibre);
      ran = ran || !paused;
    }
    for (size_t b = 0; b < count; b += block_count) {
      for (size_t w = 0; w < block_count; w += 32) {
        release(b + w, b + std::min(w + 32, block_count), Fibre::Waits::kForWarp);
      }
      release(b, b + block_count, Fibre::Waits::kForBlock);
    }
    for (size_t b = 0; b < count; b += cluster_size * block_count) {
      release(b, b + cluster_size * block_count, Fibre::Waits::kForCluster);
    }
    idle = ran ? 0 : idle + 1;
    fovea::check(idle < kMaxIdleRounds || !left, "cuda: expected all threads to meet, got some that wait for ever");
  }
}

std::vector<dim3> all_blocks(const dim3& blocks) {
  std::vector<dim3> all;
  for (unsigned z = 0; z < blocks.z; ++z)
    for (unsigned y = 0; y < blocks.y; ++y)
      for (unsigned x = 0; x < blocks.x; ++x) all.emplace_back(x, y, z);
  return all;
}

std::unique_lock<std::mutex> begin_grid(const dim3& blocks, const dim3& threads, const std::function<void()>& kernel) {
  static std::mutex mutex;
  std::unique_lock lock(mutex);
  block_count = size_t{threads.x} * threads.y * threads.z;
  grid_size = blocks;
  block_size = threads;
  body = &kernel;
  return lock;
}

}  // namespace

void sync_block() { wait(Fibre::Waits::kForBlock); }
void sync_cluster() { wait(Fibre::Waits::kForCluster); }

void pause() {
  paused = true;
  wait(Fibre::Waits::kNo);
}

int lane() { return static_cast<int>(current % block_count % 32); }

namespace {

Warp& own_warp() { return warps[current / block_count * warps_of_block() + current % block_count / 32]; }

}  // namespace

const uint64_t* exchange_in_warp(uint64_t own) {
  uint64_t* left = own_warp().left[fibres[current]->barriers++ % 2];
  left[lane()] = own;
  wait(Fibre::Waits::kForWarp);
  return left;
}

const Words* exchange_in_warp(const Words& own) {
  Words* left = own_warp().words[fibres[current]->barriers++ % 2];
  left[lane()] = own;
  wait(Fibre::Waits::kForWarp);
  return left;
}

std::byte* shared_memory() { return shared[current / block_count].bytes; }
std::byte* shared_memory_of(unsigned rank) {
  return shared[current / block_count / cluster_size * cluster_size + rank].bytes;
}

void run(const dim3& blocks, const dim3& threads, const std::function<void()>& kernel) {
  const auto lock = begin_grid(blocks, threads, kernel);
  for (const dim3& block : all_blocks(blocks)) run_blocks({block});
}

void run_cooperative(const dim3& blocks, const dim3& threads, unsigned cluster, const std::function<void()>& kernel) {
  const auto lock = begin_grid(blocks, threads, kernel);
  cluster_size = cluster;
  run_blocks(all_blocks(blocks));
  cluster_size = 1;
}

}  // namespace emulated

bool cublaslt_gemm(Stream&, const GemmArgs&) { return false; }
bool attend_with_cudnn(Stream&, const DotAttentionArgs&) { return false; }
bool attend_with_cudnn_grad(Stream&, const DotAttentionGradArgs&) { return false; }

}  // namespace fovea::cuda
