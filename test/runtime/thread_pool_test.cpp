#include "runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace ullage {
namespace {

class ThreadPoolTest : public testing::TestWithParam<int> {};

TEST_P(ThreadPoolTest, RunsEveryChunkOnce) {
  ThreadPool pool(GetParam());
  ASSERT_EQ(pool.threads(), GetParam());
  for (int64_t chunks : {0, 1, 2, 3, 7, 64, 1000}) {
    std::vector<std::atomic<int>> runs(chunks);
    std::atomic<bool> worker_in_range{true};
    pool.parallel_for(chunks, [&](int64_t chunk, int worker) {
      runs[chunk].fetch_add(1);
      if (worker < 0 || worker >= pool.threads()) worker_in_range = false;
    });
    for (auto& count : runs) EXPECT_EQ(count.load(), 1);
    EXPECT_TRUE(worker_in_range);
  }
}

TEST_P(ThreadPoolTest, JobsOfChangingSizeInQuickSuccession) {
  ThreadPool pool(GetParam());
  std::vector<std::atomic<int>> runs(16);
  for (int job = 0; job < 20000; ++job) {
    const int64_t chunks = 1 + job % 16;
    for (int64_t i = 0; i < chunks; ++i) runs[i].store(0, std::memory_order_relaxed);
    pool.parallel_for(chunks, [&](int64_t chunk, int) { runs[chunk].fetch_add(1); });
    for (int64_t i = 0; i < chunks; ++i) ASSERT_EQ(runs[i].load(), 1) << "job " << job;
  }
}

TEST_P(ThreadPoolTest, WakesParkedWorkers) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int64_t> sum{0};
    pool.parallel_for(100, [&](int64_t chunk, int) { sum += chunk; });
    EXPECT_EQ(sum.load(), 4950);
  }
}

TEST_P(ThreadPoolTest, OneChunkAtATimeUnderEachWorkerNumber) {
  ThreadPool pool(GetParam());
  std::vector<std::atomic<int>> inside(pool.threads());
  std::atomic<bool> alone{true};
  pool.parallel_for(500, [&](int64_t, int worker) {
    if (inside[worker].fetch_add(1) != 0) alone = false;
    std::this_thread::yield();
    inside[worker].fetch_sub(1);
  });
  EXPECT_TRUE(alone);
}

TEST_P(ThreadPoolTest, NestedCallsRunInlineUnderTheSameWorker) {
  ThreadPool pool(GetParam());
  std::atomic<int> inner_runs{0};
  std::atomic<bool> same_place{true};
  pool.parallel_for(8, [&](int64_t, int outer) {
    const auto thread = std::this_thread::get_id();
    pool.parallel_for(5, [&](int64_t, int inner) {
      inner_runs.fetch_add(1);
      if (inner != outer || std::this_thread::get_id() != thread) same_place = false;
    });
  });
  EXPECT_EQ(inner_runs.load(), 40);
  EXPECT_TRUE(same_place);
}

TEST_P(ThreadPoolTest, RethrowsAndStaysUsable) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(pool.parallel_for(20,
                                   [&](int64_t chunk, int) {
                                     if (chunk == round % 20) throw std::runtime_error("chunk");
                                   }),
                 std::runtime_error);
    std::atomic<int> runs{0};
    pool.parallel_for(20, [&](int64_t, int) { runs.fetch_add(1); });
    EXPECT_EQ(runs.load(), 20);
  }
}

TEST_P(ThreadPoolTest, CallsFromSeveralThreads) {
  ThreadPool pool(GetParam());
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      for (int job = 0; job < 200; ++job) {
        pool.parallel_for(10, [&](int64_t chunk, int) { sum += chunk; });
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 3 * 200 * 45);
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, testing::Values(1, 2, 3, 8));

TEST(ThreadPoolAlone, OneThreadRunsInTheCaller) {
  ThreadPool pool(1);
  const auto caller = std::this_thread::get_id();
  pool.parallel_for(10, [&](int64_t, int) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

// A worker that is stuck in one chunk does not keep the others from being done.
TEST(ThreadPoolAlone, CallerFinishesWhatASlowWorkerLeaves) {
  ThreadPool pool(2);
  std::atomic<int> others{0};
  std::atomic<bool> slow_taken{false};
  pool.parallel_for(50, [&](int64_t, int worker) {
    if (worker == 1 && !slow_taken.exchange(true)) {
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (others.load() < 49 && std::chrono::steady_clock::now() < limit) {
        std::this_thread::yield();
      }
      EXPECT_EQ(others.load(), 49);
    } else {
      others.fetch_add(1);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  EXPECT_GE(others.load(), 49);
}

}  // namespace
}  // namespace ullage
