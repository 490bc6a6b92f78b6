#include "base/signals.h"

#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/threads.h"

namespace fovea {
namespace {

std::atomic<int> handled = 0;
void handler(int) { ++handled; }

class Handler {
 public:
  explicit Handler(int signal) : signal_(signal), before_(::signal(signal, handler)) { handled = 0; }
  ~Handler() { ::signal(signal_, before_); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  int signal_;
  sighandler_t before_;
};

bool is_blocked(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

TEST(SignalsBlocked, SignalsArriveWhenTheOutermostEnds) {
  const Handler usr1(SIGUSR1);
  {
    const SignalsBlocked outer;
    {
      const SignalsBlocked inner;
      raise(SIGUSR1);
    }
    EXPECT_EQ(handled, 0);
    EXPECT_FALSE(is_blocked(SIGSEGV));
  }
  EXPECT_EQ(handled, 1);
  EXPECT_FALSE(is_blocked(SIGUSR1));
}

TEST(SignalsBlocked, WhatWasBlockedBeforeStaysBlocked) {
  sigset_t usr2;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &usr2, nullptr);
  { const SignalsBlocked blocked; }
  EXPECT_TRUE(is_blocked(SIGUSR2));
  EXPECT_FALSE(is_blocked(SIGUSR1));
  pthread_sigmask(SIG_UNBLOCK, &usr2, nullptr);
}

TEST(SignalsBlocked, ThreadsOfThePoolTakeNoSignals) {
  std::atomic<int> begun = 0;
  parallel_parts(3, [&](int part, int parts) {
    for (++begun; begun < parts;) std::this_thread::yield();  // so that each part has a thread of its own
    EXPECT_EQ(is_blocked(SIGINT), part != 0);
    EXPECT_FALSE(is_blocked(SIGSEGV));
  });
  EXPECT_FALSE(is_blocked(SIGINT));
}

thread_local bool takes_signals = false;
std::atomic<int> taken = 0, taken_elsewhere = 0;

TEST(SignalsBlocked, NoHandlerRunsOnAThreadOfThePoolThatStarts) {
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { ++(takes_signals ? taken : taken_elsewhere); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, &before);
  const itimerval often = {.it_interval = {0, 100}, .it_value = {0, 100}}, never = {};
  takes_signals = true;
  setitimer(ITIMER_REAL, &often, nullptr);
  while (taken < 200) {  // until enough of them have arrived
    std::thread caller;
    {
      const SignalsBlocked blocked;  // the thread inherits it
      caller = std::thread([] {
        takes_signals = true;
        sigset_t alarm;
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
        parallel_parts(4, [](int, int) {});
      });
    }
    caller.join();
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(taken_elsewhere, 0);
}

// Counts calls and lets a test wait for them.
class Calls {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

TEST(Signals, TheFirstInterruptIsACall) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Calls calls;
    {
      const Signals signals([&] { calls.add(); });
      EXPECT_TRUE(is_blocked(signal));
      kill(getpid(), signal);
      calls.wait_for(1);
    }
    EXPECT_FALSE(is_blocked(signal));
  }
}

TEST(Signals, HangupsAreTheirOwnCalls) {
  Calls interrupts, hangups;
  const Signals signals([&] { interrupts.add(); }, [&] { hangups.add(); });
  for (int i = 1; i <= 3; ++i) {
    kill(getpid(), SIGHUP);
    hangups.wait_for(i);
  }
  kill(getpid(), SIGTERM);
  interrupts.wait_for(1);
}

// timeout(1) signals its child and then the child's process group.
TEST(SignalsDeathTest, ASignalSentTwiceIsOneInterrupt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto send_twice = [] {
    Calls calls;
    const Signals signals([&] { calls.add(); });
    kill(getpid(), SIGTERM);
    calls.wait_for(1);
    kill(getpid(), SIGTERM);
    usleep(150'000);
    _exit(7);
  };
  EXPECT_EXIT(send_twice(), ::testing::ExitedWithCode(7), "");
}

TEST(SignalsDeathTest, TheSecondInterruptEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto interrupt_twice = [](int first, int second) {
    Calls calls;
    const Signals signals([&] { calls.add(); });
    kill(getpid(), first);
    calls.wait_for(1);
    usleep(400'000);
    kill(getpid(), second);
    while (true) pause();
  };
  EXPECT_EXIT(interrupt_twice(SIGINT, SIGINT), ::testing::ExitedWithCode(130), "");
  EXPECT_EXIT(interrupt_twice(SIGTERM, SIGINT), ::testing::ExitedWithCode(130), "");
  EXPECT_EXIT(interrupt_twice(SIGHUP, SIGTERM), ::testing::ExitedWithCode(130), "");
}

TEST(SignalsDeathTest, UnderNohupAHangupIsIgnored) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang_up = [] {
    ::signal(SIGHUP, SIG_IGN);
    Calls calls;
    const Signals signals([&] { calls.add(); });
    kill(getpid(), SIGHUP);
    kill(getpid(), SIGTERM);  // would be the second one
    calls.wait_for(1);
    _exit(7);
  };
  EXPECT_EXIT(hang_up(), ::testing::ExitedWithCode(7), "");
}

TEST(SignalsDeathTest, OtherSignalsEndTheProgramAsEver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto quit = [] {
    const Signals signals([] {});
    kill(getpid(), SIGUSR1);
    while (true) pause();
  };
  EXPECT_EXIT(quit(), ::testing::KilledBySignal(SIGUSR1), "");
}

TEST(Signals, AClosedPipeEndsNothing) {
  const Signals signals([] {});
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(write(ends[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  close(ends[1]);
}

}  // namespace
}  // namespace fovea
