// The clock, the tasks and the log of real runs.
#include <gtest/gtest.h>

#include <atomic>

#include "env/real_host.h"

namespace dlhost::env {
namespace {

constexpr Nanoseconds millisecond = 1'000'000;
constexpr Nanoseconds bound = 20'000 * millisecond; // no wait here lasts longer, however slow the machine

TEST(Clock, GoesOnAndSleeps) {
  SteadyClock clock;
  const auto start = clock.now();
  clock.sleep(2 * millisecond);
  EXPECT_GE(clock.now() - start, 2 * millisecond);
  clock.sleep(0);
  clock.sleep(-5);
  EXPECT_GT(clock.wall_seconds(), 1.7e9);
}

TEST(Tasks, RunAndJoin) {
  ThreadTasks tasks;
  std::atomic<int> ran{0};
  {
    auto first = tasks.start("a name that is longer than fifteen bytes", [&] { ++ran; });
    auto second = tasks.start("", [&] { ++ran; });
    first->join();
    first->join();
  } // the second is joined by its end
  EXPECT_EQ(ran, 2);
}

TEST(Waiter, WakesWhoWaits) {
  ThreadTasks tasks;
  auto waiter = tasks.waiter();
  std::atomic<bool> done{false};
  const auto ticket = waiter->ticket();
  auto task = tasks.start("notifier", [&] {
    done = true;
    waiter->notify_all();
  });
  EXPECT_TRUE(waiter->wait(ticket, bound));
  EXPECT_TRUE(done);
  EXPECT_TRUE(waiter->wait(ticket, 0)); // what came after the ticket stays true
}

TEST(Waiter, GivesUpAtTheLimit) {
  ThreadTasks tasks;
  auto waiter = tasks.waiter();
  waiter->notify_all();
  EXPECT_FALSE(waiter->wait(waiter->ticket(), millisecond));
}

TEST(Log, DropsWhatIsBelowItsLevel) {
  StderrLog log(LogLevel::warning);
  EXPECT_FALSE(log.shows(LogLevel::info));
  EXPECT_TRUE(log.shows(LogLevel::warning));
  testing::internal::CaptureStderr();
  log.write(LogLevel::info, "unseen");
  log.write(LogLevel::error, "seen {}");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error: seen {}\n");
}

TEST(RealHost, SaysThatPluginsCannotBeMadeYet) {
  RealHost host;
  EXPECT_EQ(host.make(Kind::store, {"file", {}}).status().message(), "no plugins can be made yet: store 'file'");
  host.set_maker([](Kind, const Part& part) -> Result<std::unique_ptr<Plugin>> {
    return Status::not_found("asked for ", part.type);
  });
  EXPECT_EQ(host.make(Kind::store, {"file", {}}).status().message(), "asked for file");
}

TEST(RealHost, KnowsItsProcessors) { EXPECT_GE(usable_processors(), 1); }

} // namespace
} // namespace dlhost::env
