// Signals and threads that compute.
//
// oneDNN's generated f32 products use the stack pointer to address their workspace on the heap. A signal handler that
// ran on such a thread would write its frame over live memory. Therefore no handler may run there: the threads of our
// pool (base/threads.h) block signals for good, the caller's thread blocks them while it is inside such code, and
// programs receive signals on a thread that does nothing else.
//
// Signals that a thread brings upon itself (SIGSEGV and its kin, SIGPIPE) are never blocked.
#pragma once

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigset_t

#include <atomic>
#include <functional>
#include <thread>

namespace fovea {

// Blocks signals on the calling thread while it lives; they arrive afterwards. Only the outermost one on a thread
// costs two system calls.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  bool outermost_;
  sigset_t before_;
};

// Blocks signals on the calling thread from now on.
void block_signals();

// Receives SIGINT, SIGTERM and SIGHUP on a thread of its own while it lives, and blocks signals on the calling thread
// and on the threads it starts. Create it before other threads.
//
// The first SIGINT or SIGTERM calls `interrupt`. The second one ends the program at once, with status 130,
// unless it follows within 0.3 seconds: timeout(1) and some shells send a signal twice. SIGHUP calls
// `hangup` every time. Without `hangup` it is one more kind of interrupt, unless the program was started to ignore it
// (nohup). A write to a closed pipe fails with EPIPE and ends nothing.
//
// The callbacks are ordinary functions on an ordinary thread: they may lock, allocate and print.
class Signals {
 public:
  explicit Signals(std::function<void()> interrupt, std::function<void()> hangup = {});
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  void receive() const;

  SignalsBlocked blocked_;
  std::function<void()> interrupt_, hangup_;
  sigset_t awaited_;
  struct sigaction pipe_before_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace fovea
