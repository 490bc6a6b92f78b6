#include "base/thread_governor.h"

#include <gtest/gtest.h>

namespace fovea {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Simulates a caller whose regions each take `spent`, of which it waits `waited` for other threads.
class Caller {
 public:
  explicit Caller(int wanted) : wanted_(wanted) {}

  int threads() { return governor_.threads(wanted_, now_); }
  void run(ThreadGovernor::Duration spent, ThreadGovernor::Duration waited, int times) {
    for (int i = 0; i < times; ++i) {
      const int count = threads();
      now_ += spent;
      if (count > 1) governor_.add(count, spent, waited, now_);
    }
  }

 private:
  int wanted_;
  ThreadGovernor governor_;
  ThreadGovernor::Time now_;
};

TEST(ThreadGovernor, AQuietMachineKeepsAllThreads) {
  Caller caller(8);
  caller.run(microseconds(20), microseconds(15), 10000);  // short regions: mostly waiting, but no thread is late
  EXPECT_EQ(caller.threads(), 8);
  caller.run(milliseconds(5), milliseconds(2), 100);  // parts of unequal size
  EXPECT_EQ(caller.threads(), 8);
}

TEST(ThreadGovernor, ABusyMachineHalvesThem) {
  Caller caller(8);
  caller.run(milliseconds(5), milliseconds(4), 5);
  EXPECT_EQ(caller.threads(), 4);
  caller.run(milliseconds(5), milliseconds(4), 5);
  EXPECT_EQ(caller.threads(), 2);
  caller.run(milliseconds(5), milliseconds(4), 5);
  EXPECT_EQ(caller.threads(), 1);
}

TEST(ThreadGovernor, OneInAFewLateRegionsIsEnough) {
  Caller caller(2);
  for (int i = 0; i < 3; ++i) {
    caller.run(microseconds(50), microseconds(5), 60);
    caller.run(milliseconds(10), milliseconds(10), 1);
  }
  EXPECT_EQ(caller.threads(), 1);
}

TEST(ThreadGovernor, TriesAgainLessAndLessOften) {
  Caller caller(2);
  caller.run(milliseconds(10), milliseconds(9), 3);
  ASSERT_EQ(caller.threads(), 1);
  int trials = 0;
  for (int i = 0; i < 6000; ++i) {  // a minute
    trials += caller.threads() == 2;
    caller.run(milliseconds(10), milliseconds(9), 1);
  }
  EXPECT_GE(trials, 10);  // after pauses of 0.25, 0.5, 1, 2, 4, 8, 8 ... seconds
  EXPECT_LE(trials, 12);
}

TEST(ThreadGovernor, TakesThemBackWhenTheMachineIsQuietAgain) {
  Caller caller(8);
  caller.run(milliseconds(5), milliseconds(4), 15);
  ASSERT_EQ(caller.threads(), 1);
  caller.run(milliseconds(5), microseconds(10), 1000);
  EXPECT_EQ(caller.threads(), 8);
}

}  // namespace
}  // namespace fovea
