// Processes that this one started, or has taken over.
#include "env/process/process.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dlhost::env {
namespace {

constexpr std::int64_t long_enough = 20'000'000'000;

// Starts a process that sleeps, as a child of another one that has ended. This process cannot wait for its end.
pid_t orphan() {
  int ends[2] = {};
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      ::close(ends[1]);
      ::execlp("sleep", "sleep", "60", nullptr);
      ::_exit(1);
    }
    ::_exit(::write(ends[1], &child, sizeof child) == sizeof child ? 0 : 1);
  }
  pid_t orphan = 0;
  EXPECT_EQ(::read(ends[0], &orphan, sizeof orphan), static_cast<ssize_t>(sizeof orphan));
  EXPECT_EQ(::waitpid(parent, nullptr, 0), parent);
  ::close(ends[0]);
  ::close(ends[1]);
  return orphan;
}

TEST(AdoptedProcess, EndsWhereItIsKilled) {
  const auto process = Process::adopt(orphan());
  EXPECT_FALSE(process->ended());
  EXPECT_FALSE(process->wait(1));
  process->kill();
  ASSERT_TRUE(process->wait(long_enough));
  EXPECT_EQ(process->ended(), "was killed by dlhost");
}

TEST(AdoptedProcess, HasEndedInAWayThatOnlyItsParentKnows) {
  const pid_t number = orphan();
  const auto process = Process::adopt(number);
  ASSERT_EQ(::kill(number, SIGTERM), 0);
  ASSERT_TRUE(process->wait(long_enough));
  EXPECT_EQ(process->ended(), "has ended");
  EXPECT_FALSE(process->ended_by_fault(70));
  EXPECT_EQ(Process::adopt(number)->ended(), "has ended") << "before it was adopted";
}

// A leader that begins anew takes its own children over.
TEST(AdoptedProcess, IsKnownToAParent) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(70);
  const auto process = Process::adopt(child);
  ASSERT_TRUE(process->wait(long_enough));
  EXPECT_EQ(process->ended(), "ended with exit status 70");
  EXPECT_TRUE(process->ended_by_fault(70));
}

TEST(AdoptedProcess, StaysWhenItIsLetGo) {
  const pid_t number = orphan();
  Process::adopt(number)->let_go();
  EXPECT_TRUE(runs(number));
  EXPECT_TRUE(kill(number));
}

} // namespace
} // namespace dlhost::env
