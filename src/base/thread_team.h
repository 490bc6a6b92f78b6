// The threads that share the parallel work of one calling thread. They start with the first work that needs them and
// wait for the next: for a moment by polling, because the next parallel region often starts within microseconds, then
// asleep, so that they do not keep a core from other programs.
//
// A thread takes a part when it has a core to run on. The calling thread takes all parts that no other has taken by the
// time it is done with its own, so on a busy machine a region takes no longer than its parts one after the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace fovea {

class ThreadTeam {
 public:
  using Part = void (*)(void* context, int part, int parts);
  static constexpr int kMostParts = 1 << 12;

  ThreadTeam() = default;
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  // Calls part(context, i, parts) for each i below `parts`, 0 on the calling thread, and returns when all have
  // returned. There is a thread for each part, so that parts may wait for one another at barriers; but a part that ends
  // without having waited may be followed by another one on the same thread. `after_own`, if any, is called by the
  // calling thread when it has no part left. Parts must not throw.
  void run(int parts, Part part, void* context, void (*after_own)(void* context) = nullptr);

  // Whether the calling thread is inside a part.
  static bool in_part();

 private:
  void work();
  void start(int parts);
  // Takes a part and runs it; returns false if none is left.
  bool run_next();

  std::vector<std::thread> threads_;
  uint64_t forks_ = 0;  // of the process when the threads were started: a forked child has none of them
  std::atomic<bool> ends_ = false;

  std::atomic<uint32_t> region_ = 0;      // the number of the latest region
  std::atomic<uint32_t> parts_ = 0;       // its parts, times kMostParts, plus those that have been taken
  std::atomic<uint32_t> unfinished_ = 0;  // its parts that have not returned
  // Belong to whoever has taken a part of the region, until it is finished.
  Part part_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace fovea
