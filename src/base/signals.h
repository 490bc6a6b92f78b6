// Signals are received on a dedicated thread, where code may lock, allocate and print, which it may not do in a signal
// handler. All other threads block them; those of base/thread_team.h always do. Synchronous signals (SIGSEGV and other
// faults, SIGPIPE) are never blocked.
#pragma once

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigset_t

#include <atomic>
#include <functional>
#include <thread>

namespace fovea {

// Blocks signals on the calling thread during its lifetime; they are delivered afterwards. Only the outermost scope of
// a thread makes system calls.
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

// Receives SIGINT, SIGTERM and SIGHUP on a dedicated thread during its lifetime, and blocks signals on the calling
// thread and on the threads that it starts. It must be created before other threads.
//
// The first SIGINT or SIGTERM calls `interrupt`. The second one exits the program immediately with status 130, unless
// it arrives within 0.3 seconds: timeout(1) and some shells send a signal twice. SIGHUP calls `hangup` every time.
// Without `hangup`, SIGHUP is handled like SIGINT, unless the program was started with SIGHUP ignored (nohup). A write
// to a closed pipe fails with EPIPE and does not end the program.
//
// The callbacks run on an ordinary thread: they may lock, allocate and print.
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
