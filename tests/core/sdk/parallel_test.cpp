#include <dlhost/parallel.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace dlhost {
namespace {

TEST(Parallel, RunsEachTaskOnce) {
  for (int threads : {1, 2, 5}) {
    set_parallel_threads(threads);
    for (std::int64_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<int> runs(static_cast<std::size_t>(tasks));
      parallel(tasks, [&](std::int64_t task) { ++runs[static_cast<std::size_t>(task)]; });
      EXPECT_EQ(runs, std::vector<int>(runs.size(), 1)) << tasks << " tasks on " << threads;
    }
  }
}

TEST(Parallel, RangesCoverTheCountAndKeepTheGrain) {
  set_parallel_threads(4);
  std::vector<int> seen(1001);
  std::atomic<int> pieces{0};
  parallel_ranges(1001, 400, [&](std::int64_t first, std::int64_t last) {
    ++pieces;
    for (auto i = first; i < last; ++i) ++seen[static_cast<std::size_t>(i)];
  });
  EXPECT_EQ(seen, std::vector<int>(1001, 1));
  EXPECT_LE(pieces, 3);
}

TEST(Parallel, CarriesTheExceptionOut) {
  set_parallel_threads(3);
  std::atomic<int> done{0};
  try {
    parallel(100, [&](std::int64_t task) {
      if (task == 40) throw std::runtime_error("task 40");
      ++done;
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "task 40");
  }
  EXPECT_LT(done, 100);
}

TEST(Parallel, NestedCallsRunSerially) {
  set_parallel_threads(2);
  std::atomic<int> sum{0};
  parallel(2, [&](std::int64_t) {
    EXPECT_EQ(parallel_threads(), 1);
    parallel(10, [&](std::int64_t) { ++sum; });
  });
  EXPECT_EQ(sum, 20);
}

TEST(Parallel, ThreadsAreTheCallersOwn) {
#ifndef _OPENMP
  GTEST_SKIP() << "built without OpenMP: there is one thread";
#endif
  set_parallel_threads(2);
  std::thread other([] {
    set_parallel_threads(5);
    EXPECT_EQ(parallel_threads(), 5);
  });
  other.join();
  EXPECT_EQ(parallel_threads(), 2);
}

} // namespace
} // namespace dlhost
