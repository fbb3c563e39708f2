// The data that a simulated disk keeps after a death.
#include <gtest/gtest.h>

#include <set>

#include "../../temporary_folder.h"
#include "env/disk.h"
#include "env/simulated/host.h"

namespace dlhost::env::simulated {
namespace {

constexpr Nanoseconds a_second = 1'000'000'000;

TEST(SimulatedDisk, WhatADeadProcessWroteLastIsNotThere) {
  World world(1);
  SimulatedHost host(world);
  ASSERT_TRUE(host.disk().write_text("/kept", "old").ok());
  const int victim = world.start("victim", [&] {
    auto file = host.disk().create("/kept");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->append(std::as_bytes(std::span("new", 3))).ok());
    world.kill(world.process());
    EXPECT_EQ((*file)->commit().code(), Code::io);
    EXPECT_FALSE(host.disk().write_text("/other", "x").ok());
    EXPECT_FALSE(host.disk().remove("/kept").ok());
    EXPECT_FALSE(host.disk().rename("/kept", "/other").ok());
    EXPECT_FALSE(host.disk().make_directory("/folder").ok());
    EXPECT_FALSE(host.disk().open_log("/log").ok());
  });
  ASSERT_TRUE(world.run(for_ever).ok());
  EXPECT_FALSE(world.runs(victim));
  EXPECT_EQ(*host.disk().read_text("/kept"), "old");
  EXPECT_EQ(host.disk().list("/")->size(), 1U);
}

// The content of a log whose process, or machine, died before it synced the last lines.
std::string left(std::uint64_t seed, bool machine) {
  World world(seed);
  SimulatedHost host(world);
  const int victim = world.start("victim", [&] {
    auto log = host.disk().open_log("/log");
    ASSERT_TRUE(log.ok());
    for (const char* line : {"one\n", "two\n"}) ASSERT_TRUE((*log)->append(line).ok());
    ASSERT_TRUE((*log)->sync().ok());
    for (const char* line : {"three\n", "four\n"}) ASSERT_TRUE((*log)->append(line).ok());
    host.clock().sleep(10 * a_second);
  });
  world.at(5 * a_second, [&] {
    if (machine) host.disk().crash(0);
    world.kill(victim);
  });
  EXPECT_TRUE(world.run(for_ever).ok());
  return *host.disk().read_text("/log");
}

TEST(SimulatedDisk, WhatWasAppendedOutlivesItsProcess) { EXPECT_EQ(left(1, false), "one\ntwo\nthree\nfour\n"); }

TEST(SimulatedDisk, AMachineThatStopsTearsALog) {
  std::set<std::string> seen;
  const std::string whole = "one\ntwo\nthree\nfour\n";
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::string log = left(seed, true);
    EXPECT_TRUE(whole.starts_with(log)) << log;
    EXPECT_GE(log.size(), 8U) << "what was synced is there";
    seen.insert(log);
  }
  EXPECT_GT(seen.size(), 4U);
}

TEST(SimulatedDisk, IsFullAsItIsTold) {
  World world(1);
  SimulatedHost host(world);
  host.disk().limit(0, 10);
  ASSERT_TRUE(host.disk().write_text("/a", "12345").ok());
  const Status status = host.disk().write_text("/b", "1234567");
  EXPECT_EQ(status.code(), Code::no_space) << status.message();
  EXPECT_FALSE(host.disk().exists("/b"));
  ASSERT_TRUE(host.disk().remove("/a").ok());
  EXPECT_TRUE(host.disk().write_text("/b", "1234567").ok()) << "what was not written takes no room";
}

TEST(SimulatedDisk, EachMachineHasItsOwnAndReadsWhatLiesBeneath) {
  const test::TemporaryFolder folder;
  PosixDisk real;
  ASSERT_TRUE(real.write_text(folder / "data", "real").ok());
  World world(1);
  SimulatedHost host(world, &real);
  for (const int machine : {0, 1})
    world.start(
        "one",
        [&, machine] {
          EXPECT_EQ(*host.disk().read_text(folder / "data"), "real");
          EXPECT_FALSE(host.disk().exists("/mine"));
          ASSERT_TRUE(host.disk().write_text("/mine", concat(machine)).ok());
          EXPECT_EQ(*host.disk().read_text("/mine"), concat(machine));
        },
        machine);
  ASSERT_TRUE(world.run(for_ever).ok());
  EXPECT_EQ(*host.disk().read_text("/mine"), "0");
}

} // namespace
} // namespace dlhost::env::simulated
