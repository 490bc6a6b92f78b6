#include "base/threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace fovea {
namespace {

TEST(ParallelFor, VisitsEachElementOnce) {
  set_thread_count(4);
  for (const int64_t count : {0, 1, 3, 4, 5, 1000}) {
    std::vector<int> visits(static_cast<size_t>(count), 0);
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
    });
    EXPECT_EQ(std::accumulate(visits.begin(), visits.end(), 0), count);
    for (const int n : visits) EXPECT_EQ(n, 1);
  }
}

TEST(ParallelFor, StaysOnOneThreadBelowTheGrain) {
  set_thread_count(4);
  int calls = 0;
  parallel_for(10, 100, [&](int64_t begin, int64_t end) {
    ++calls;
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 10);
  });
  EXPECT_EQ(calls, 1);
}

TEST(ParallelFor, RunsInsideItselfAndOnOtherThreads) {
  set_thread_count(2);
  std::vector<int> sums(4, 0);
  std::vector<std::thread> threads;
  for (int& sum : sums) {
    threads.emplace_back([&sum] {
      std::vector<int> x(100, 0);
      parallel_for(10, 1, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          parallel_for(10, 1, [&](int64_t b, int64_t e) {
            for (int64_t k = b; k < e; ++k) x[static_cast<size_t>(j * 10 + k)] = 1;
          });
        }
      });
      sum = std::accumulate(x.begin(), x.end(), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int sum : sums) EXPECT_EQ(sum, 100);
}

TEST(ParallelParts, AreCalledOnceEachInManyRegions) {
  std::thread([] {
    for (int round = 0; round < 5000; ++round) {
      const int parts = 2 + round % 3;
      set_thread_count(parts);
      std::vector<int> calls(static_cast<size_t>(parts), 0);
      parallel_parts(parts, [&](int part, int of) {
        EXPECT_EQ(of, parts);
        ++calls[static_cast<size_t>(part)];
      });
      for (const int count : calls) EXPECT_EQ(count, 1);
    }
  }).join();
}

TEST(ParallelParts, MayWaitForOneAnother) {
  std::thread([] {
    for (int round = 0; round < 200; ++round) {
      std::atomic<int> arrived = 0;
      parallel_parts(5, [&](int, int parts) {
        ++arrived;
        while (arrived < parts) std::this_thread::yield();
      });
      EXPECT_EQ(arrived, 5);
    }
  }).join();
}

TEST(ParallelParts, IdleThreadsSleep) {
  set_thread_count(4);
  parallel_parts(4, [](int, int) {});
  const std::clock_t begin = std::clock();  // CPU time of all threads
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC / 10);
}

TEST(ParallelParts, AForkedChildHasThreadsOfItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not allow new threads after a fork";
#endif
  set_thread_count(3);
  parallel_parts(3, [](int, int) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int> calls = 0;
    parallel_parts(3, [&](int, int) { ++calls; });
    _exit(calls == 3 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The second thread of each region is late, as on a busy machine: one thread is faster.
TEST(ThreadCount, FallsWhileOthersAreLate) {
  std::thread([] {
    set_thread_count(2);
    adapt_thread_count();
    EXPECT_FALSE(thread_count_is_reduced());
    for (int i = 0; i < 10; ++i) {
      std::atomic<bool> begun = false;
      parallel_parts(2, [&](int part, int) {
        while (part == 0 && !begun) std::this_thread::yield();  // so that another thread takes part 1
        begun = true;
        if (part == 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      });
    }
    EXPECT_TRUE(thread_count_is_reduced());
    EXPECT_EQ(thread_count(), 1);
    set_thread_count(2);  // does not end the adaptation
    EXPECT_EQ(thread_count(), 1);
    adapt_thread_count(false);
    set_thread_count(2);
    EXPECT_EQ(thread_count(), 2);
  }).join();
}

TEST(ThreadCount, IsFixedInAScope) {
  set_thread_count(3);
  {
    const ThreadCountScope one(1);
    EXPECT_EQ(thread_count(), 1);
  }
  EXPECT_EQ(thread_count(), 3);
}

TEST(RunTasks, RunsEachTaskOnceWithOneThreadInside) {
  set_thread_count(4);
  std::vector<std::atomic<int>> runs(100);
  std::atomic<int> workers = 0;
  run_tasks(100, [&](TaskQueue& queue) {
    ++workers;
    EXPECT_EQ(thread_count(), 1);
    for (int64_t task = queue.next(); task >= 0; task = queue.next()) ++runs[static_cast<size_t>(task)];
  });
  EXPECT_EQ(workers, 4);
  for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1);
}

TEST(RunTasks, FewTasksLeaveTheThreadsToTheWorkInside) {
  set_thread_count(4);
  for (const int64_t tasks : {0, 1}) {
    int workers = 0;
    run_tasks(tasks, [&](TaskQueue&) {
      ++workers;
      EXPECT_EQ(thread_count(), 4);
    });
    EXPECT_EQ(workers, 1);
  }
}

TEST(RunTasks, AnErrorEndsAllAndIsRethrown) {
  set_thread_count(3);
  std::atomic<int> begun = 0;
  const auto work = [&](TaskQueue& queue) {
    while (queue.next() >= 0) {
      ++begun;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      throw std::runtime_error("the task failed");
    }
  };
  EXPECT_THROW(run_tasks(1000, work), std::runtime_error);
  EXPECT_LE(begun, 3);
}

}  // namespace
}  // namespace fovea
