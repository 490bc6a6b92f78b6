#include "base/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <optional>

namespace fovea {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kInterruptedStatus = 128 + SIGINT;
constexpr auto kRepeated = std::chrono::milliseconds(300);  // a signal that is sent twice counts once

thread_local int depth = 0;  // the number of SignalsBlocked scopes on this thread; 1 after block_signals()

// All signals but the synchronous ones: faults and SIGPIPE.
const sigset_t& asynchronous_signals() {
  static const sigset_t set = [] {
    sigset_t all;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPIPE}) sigdelset(&all, own);
    return all;
  }();
  return set;
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

SignalsBlocked::SignalsBlocked() : outermost_(depth++ == 0), before_{} {
  if (outermost_) pthread_sigmask(SIG_BLOCK, &asynchronous_signals(), &before_);
}

SignalsBlocked::~SignalsBlocked() {
  --depth;
  if (outermost_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void block_signals() {
  if (depth > 0) return;
  depth = 1;
  pthread_sigmask(SIG_BLOCK, &asynchronous_signals(), nullptr);
}

Signals::Signals(std::function<void()> interrupt, std::function<void()> hangup)
    : interrupt_(std::move(interrupt)), hangup_(std::move(hangup)), awaited_{}, pipe_before_{} {
  sigemptyset(&awaited_);
  sigaddset(&awaited_, SIGINT);
  sigaddset(&awaited_, SIGTERM);
  if (hangup_ || !is_ignored(SIGHUP)) sigaddset(&awaited_, SIGHUP);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
  thread_ = std::thread([this] { receive(); });
}

Signals::~Signals() {
  ended_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
  sigaction(SIGPIPE, &pipe_before_, nullptr);
}

void Signals::receive() const {
  // All other signals keep their default action on this thread: Ctrl-Z stops the program, Ctrl-\ ends it.
  pthread_sigmask(SIG_SETMASK, &awaited_, nullptr);
  std::optional<Clock::time_point> interrupted;
  while (true) {
    int signal = 0;
    sigwait(&awaited_, &signal);
    if (ended_) return;
    if (signal == SIGHUP && hangup_) {
      hangup_();
    } else if (!interrupted) {
      interrupted = Clock::now();
      interrupt_();
    } else if (Clock::now() - *interrupted > kRepeated) {
      _exit(kInterruptedStatus);
    }
  }
}

}  // namespace fovea
