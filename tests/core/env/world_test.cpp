// Simulated processes: virtual time, tasks that take turns, deaths, and repetition from a seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "env/simulated/host.h"

namespace dlhost::env::simulated {
namespace {

constexpr Nanoseconds second = 1'000'000'000;
using testing::ElementsAre;
using testing::HasSubstr;

struct WorldTest : testing::Test {
  World world{7};
  SimulatedHost host{world};
};

TEST_F(WorldTest, TimePassesOnlyInWaits) {
  std::vector<Nanoseconds> seen;
  world.start("one", [&] {
    seen.push_back(host.clock().now());
    host.clock().sleep(1000 * second);
    seen.push_back(host.clock().now());
    auto waiter = host.tasks().waiter();
    EXPECT_FALSE(waiter->wait(waiter->ticket(), 5 * second));
    seen.push_back(host.clock().now());
  });
  ASSERT_TRUE(world.run(for_ever).ok());
  EXPECT_THAT(seen, ElementsAre(0, 1000 * second, 1005 * second));
}

TEST_F(WorldTest, TasksWakeEachOtherAndAreJoined) {
  int value = 0;
  world.start("one", [&] {
    auto waiter = host.tasks().waiter();
    const auto ticket = waiter->ticket();
    auto task = host.tasks().start("setter", [&] {
      host.clock().sleep(second);
      value = 5;
      waiter->notify_all();
    });
    EXPECT_TRUE(waiter->wait(ticket, 100 * second));
    EXPECT_EQ(value, 5);
    EXPECT_EQ(host.clock().now(), second);
    task->join();
    EXPECT_TRUE(waiter->wait(ticket, 0)); // a notification after the ticket still counts
  });
  ASSERT_TRUE(world.run(for_ever).ok());
  EXPECT_EQ(value, 5);
}

// Three processes that take turns in an order that only the seed determines.
std::pair<std::string, std::uint64_t> turns(std::uint64_t seed) {
  World world(seed);
  SimulatedHost host(world);
  std::string order;
  for (const char name : {'a', 'b', 'c'})
    world.start({name}, [&, name] {
      for (int i = 0; i < 5; ++i) {
        order += name;
        host.clock().sleep(second);
      }
    });
  EXPECT_TRUE(world.run(for_ever).ok());
  return {order, world.history()};
}

TEST(World, IsTheSameFromOneSeedAndAnotherFromAnother) {
  EXPECT_EQ(turns(3), turns(3));
  EXPECT_NE(turns(3).first, turns(4).first);
  EXPECT_NE(turns(3).second, turns(4).second);
}

TEST_F(WorldTest, SaysWhoWaitsForWhatWhenNoneCanGoOn) {
  world.start("one", [&] {
    auto waiter = host.tasks().waiter();
    waiter->wait(waiter->ticket(), for_ever);
    ADD_FAILURE() << "nobody notifies it";
  });
  const Status status = world.run(for_ever);
  EXPECT_THAT(status.message(), HasSubstr("no task can ever continue after 0.000000 simulated s"));
  EXPECT_THAT(status.message(), HasSubstr("task 'one' of process 1 (one): waits to be notified"));
}

TEST_F(WorldTest, EndsWhatTakesTooLong) {
  world.start("one", [&] {
    while (true) host.clock().sleep(second);
  });
  EXPECT_THAT(world.run(10 * second).message(), HasSubstr("it takes too long after 10.000000 simulated s"));
  EXPECT_FALSE(world.runs(1));
}

// Its tasks unwind from where they wait, destructors join them, and their actions meanwhile have no effect.
TEST_F(WorldTest, AProcessThatIsKilledUnwinds) {
  struct Waits {
    SimulatedHost& host;
    ~Waits() { host.clock().sleep(second); } // returns at once
  };
  bool unwound = false, went_on = false;
  const int victim = world.start("victim", [&] {
    const struct Note {
      bool& said;
      ~Note() { said = true; }
    } note{unwound};
    const Waits waits{host};
    auto task = host.tasks().start("beside", [&] {
      host.clock().sleep(100 * second);
      went_on = true;
    });
    host.clock().sleep(50 * second);
    went_on = true;
  });
  world.start("other", [&] { host.clock().sleep(20 * second); });
  world.at(10 * second, [&] { world.kill(victim); });
  world.at(11 * second, [&] { EXPECT_FALSE(world.runs(victim)); });
  ASSERT_TRUE(world.run(for_ever).ok());
  EXPECT_TRUE(unwound);
  EXPECT_FALSE(went_on);
  EXPECT_EQ(world.now(), 20 * second);
}

TEST_F(WorldTest, ATaskThatIsStartedAsItsProcessDiesDoesNothing) {
  bool ran = false;
  const int victim = world.start("victim", [&] {
    world.kill(world.process());
    auto task = host.tasks().start("late", [&] { ran = true; });
  });
  ASSERT_TRUE(world.run(for_ever).ok());
  EXPECT_FALSE(world.runs(victim));
  EXPECT_FALSE(ran);
}

// Each task has its own exceptions in flight, independent of other tasks that run meanwhile.
TEST_F(WorldTest, WaitsInsideACatchBlock) {
  std::vector<std::string> caught;
  for (const std::string name : {"one", "two"})
    world.start(name, [&, name] {
      for (int i = 0; i < 3; ++i) try {
          throw std::runtime_error(concat(name, i));
        } catch (const std::exception& first) {
          host.clock().sleep(second + world.below(1000));
          try {
            throw;
          } catch (const std::exception& again) {
            EXPECT_STREQ(again.what(), concat(name, i).c_str());
            caught.emplace_back(first.what());
          }
        }
    });
  ASSERT_TRUE(world.run(for_ever).ok());
  EXPECT_EQ(caught.size(), 6U);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

TEST_F(WorldTest, OnlyTasksWait) {
  EXPECT_THROW(host.clock().sleep(1), std::logic_error);
  EXPECT_THROW(host.tasks().start("none", [] {}), std::logic_error);
}

TEST_F(WorldTest, WhatIsSaidIsPartOfItsHistory) {
  world.start("one", [&] {
    host.clock().sleep(second / 2);
    host.log().write(LogLevel::info, "is not shown");
    host.log().write(LogLevel::warning, "hears");
    world.kill(world.process());
    host.log().write(LogLevel::warning, "is dead");
  });
  ASSERT_TRUE(world.run(for_ever).ok());
  EXPECT_THAT(world.told(),
              ElementsAre("    0.000000 process 1 (one) starts", "    0.500000 process 1 says: hears",
                          "    0.500000 process 1 (one) is killed", "    0.500000 process 1 (one) has ended"));
}

} // namespace
} // namespace dlhost::env::simulated
