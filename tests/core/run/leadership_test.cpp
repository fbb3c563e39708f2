// Other processes may read a leader's record at any moment, and the leader may be killed at any moment.
#include "run/recovery/leadership.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "env/disk.h"

#include "../../temporary_folder.h"

namespace dlhost::run {
namespace {

// Writes ever more recoveries, with varying numbers of workers, until it is killed or its parent is gone.
[[noreturn]] void tell_until_killed(Leadership& leadership, pid_t killer) {
  for (std::uint32_t times = 1; ::getppid() == killer; ++times)
    if (!leadership
             .tell({.host = "here",
                    .process = ::getpid(),
                    .workers = {times % 8, {"elsewhere", 12345}},
                    .past = {.times = times}})
             .ok())
      break;
  ::_exit(1);
}

TEST(Leadership, IsWhatWasToldLast) {
  const test::TemporaryFolder folder;
  env::PosixDisk disk;
  env::RealProcesses processes;
  for (int kills = 0; kills < 40; ++kills) {
    auto leadership = Leadership::take(disk, processes, folder.path(), "here");
    ASSERT_TRUE(leadership.ok()) << leadership.status().message();
    const pid_t self = ::getpid(), child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) tell_until_killed(*leadership, self);
    std::uint32_t seen = 0;
    const auto look = [&] {
      const auto told = Leadership::told(disk, folder.path());
      ASSERT_TRUE(told.ok()) << told.status().message();
      ASSERT_NE(told->process, 0);
      if (told->process != child) return;
      EXPECT_GE(told->past.times, seen);
      seen = told->past.times;
    };
    while (seen < 20 && ::waitpid(child, nullptr, WNOHANG) == 0) look();
    EXPECT_GE(seen, 20) << "it could not tell";
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    look();
  }
}

TEST(Leadership, IsOfTheMembershipThatTheRunBeganIn) {
  const test::TemporaryFolder folder;
  env::PosixDisk disk;
  env::RealProcesses processes;
  ASSERT_TRUE(Leadership::take(disk, processes, folder.path(), "here", "one").ok());
  ASSERT_TRUE(Leadership::take(disk, processes, folder.path(), "there").ok()); // without a membership
  EXPECT_EQ(Leadership::told(disk, folder.path())->membership, "one");
  ASSERT_TRUE(Leadership::take(disk, processes, folder.path(), "here", "two").ok());
  EXPECT_EQ(Leadership::told(disk, folder.path())->membership, "two");
}

// A leader that dies before it has workers leaves the server groups that go on to the next one.
TEST(Leadership, KeepsTheGroupsThatGoOn) {
  const test::TemporaryFolder folder;
  env::PosixDisk disk;
  env::RealProcesses processes;
  const GoingOn going_on{.meeting = "/meeting",
                         .homes = {0, 2, 3},
                         .workers = {{"here", ::getpid()}, {"here", ::getpid()}, {"here", ::getppid()}}};
  {
    auto leadership = Leadership::take(disk, processes, folder.path(), "here");
    ASSERT_TRUE(leadership.ok() && leadership->tell({.host = "here", .process = 1, .going_on = going_on}).ok());
  }
  ASSERT_TRUE(Leadership::take(disk, processes, folder.path(), "here").ok());
  const auto told = Leadership::told(disk, folder.path());
  ASSERT_TRUE(told.ok()) << told.status().message();
  EXPECT_EQ(told->process, ::getpid());
  EXPECT_EQ(told->going_on.meeting, "/meeting");
  EXPECT_EQ(told->going_on.homes, going_on.homes);
  EXPECT_TRUE(told->going_on.any(processes)) << "the third group";
  GoingOn of_first = going_on;
  of_first.homes = {0, 2};
  EXPECT_FALSE(of_first.any(processes)) << "a process of the second group is this one";
  of_first.workers.resize(1);
  EXPECT_FALSE(of_first.any(processes)) << "the second group is not there";
}

} // namespace
} // namespace dlhost::run
