// The clock, the tasks and the log of real runs.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <regex>

#include "../../temporary_folder.h"
#include "env/printable.h"
#include "env/process/failure_note.h"
#include "env/process/machine.h"
#include "env/process/process.h"
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
  UserLog log(LogLevel::warning);
  EXPECT_FALSE(log.shows(LogLevel::debug));
  EXPECT_TRUE(log.shows(LogLevel::info)); // for its file
  testing::internal::CaptureStderr();
  log.write(LogLevel::info, "unseen");
  log.write(LogLevel::error, "seen {}");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error: seen {}\n");
}

TEST(Log, ShowsInfoWhereThatIsAskedFor) {
  UserLog log(LogLevel::warning);
  log.set_lowest(LogLevel::info);
  testing::internal::CaptureStderr();
  log.write(LogLevel::debug, "unseen");
  log.write(LogLevel::info, "seen");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "info: seen\n");
}

TEST(Log, KeepsAllFromInfoOnInAFile) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/log.txt";
  PosixDisk disk;
  UserLog log(LogLevel::error);
  log.write(LogLevel::debug, "unseen");
  log.write(LogLevel::info, "before there was a file");
  ASSERT_TRUE(log.keep_in(disk, path).ok());
  log.write(LogLevel::warning, "an escape: \x1b[2J");
  log.keep(LogLevel::error, "for the file alone");
  ASSERT_TRUE(log.keep_in(disk, path).ok()); // nothing twice
  const auto text = disk.read_text(path);
  ASSERT_TRUE(text.ok());
  const std::string time = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z ";
  EXPECT_TRUE(
      std::regex_match(*text, std::regex(time + "info: before there was a file\n" + time +
                                         "warning: an escape: \\\\x1b\\[2J\n" + time + "error: for the file alone\n")))
      << *text;
}

TEST(Printable, KeepsTextAndEscapesTheRest) {
  EXPECT_EQ(printable("a line\n\tand \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 100),
            "a line\n\tand \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\x1b[2J\r\x7f", 100), "\\x1b[2J\\x0d\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1), 100), "\\x00");
  EXPECT_EQ(printable("\xff \xc3( \xe2\x82", 100), "\\xff \\xc3( \\xe2\\x82");      // no UTF-8
  EXPECT_EQ(printable("\xc0\xaf \xed\xa0\x80", 100), "\\xc0\\xaf \\xed\\xa0\\x80"); // too long; half a pair
  EXPECT_EQ(printable("\xc2\x9b \xe2\x80\xae", 100), "\\xc2\\x9b \\xe2\\x80\\xae"); // controls in UTF-8
}

TEST(Printable, SaysHowLongWasWhatItCut) {
  EXPECT_EQ(printable("0123456789", 10), "0123456789");
  EXPECT_EQ(printable("0123456789a", 10), "0123456789... (11 bytes in all)");
  EXPECT_EQ(printable("012345678\xc3\xa9", 10), "012345678... (11 bytes in all)"); // no half letters
  EXPECT_EQ(printable("01234567\x1b", 10), "01234567... (9 bytes in all)");
}

TEST(FailureNote, IsWrittenOnce) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/summary.json";
  PosixDisk disk;
  prepare_failure_note(path, "{\"reason\": \"", "\"}\n");
  write_failure_note("the \"cube\" \\ \x1b");
  write_failure_note("another");
  const auto text = disk.read_text(path);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "{\"reason\": \"the \\\"cube\\\" \\\\ \\\\x1b\"}\n");
}

TEST(FailureNote, ThereIsNoneWhereNoneIsWanted) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/summary.json";
  prepare_failure_note(path, "", "");
  prepare_failure_note("", "", "");
  write_failure_note("crashed");
  EXPECT_FALSE(PosixDisk().exists(path));
}

TEST(Process, SaysHowItEnded) {
  const auto ended = [](const char* how) {
    const auto process = Process::start({"sh", "-c", how}, {});
    EXPECT_TRUE(process.ok());
    EXPECT_TRUE((*process)->wait(10'000'000'000));
    return *(*process)->ended();
  };
  EXPECT_EQ(ended("exit 3"), "ended with exit status 3");
  EXPECT_EQ(ended("kill -TERM $$"), "was killed by SIGTERM");
  EXPECT_EQ(ended("kill -KILL $$"), "was killed by SIGKILL (if nobody killed it, the kernel did because memory had run "
                                    "out: `dmesg | grep -i oom` tells)");
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

// A machine of files: what /proc and /sys would say.
class Memory : public testing::Test {
 protected:
  void SetUp() override {
    write("proc/meminfo", "MemTotal:       16000 kB\nMemFree:  1 kB\nMemAvailable:    8000 kB\n");
  }
  void write(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(root_ / name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  test::TemporaryFolder root_;
};

TEST_F(Memory, OfAMachineWithoutGroups) {
  const auto memory = memory_of_machine(root_.path());
  EXPECT_EQ(memory.total_bytes, 16000U * 1024);
  EXPECT_EQ(memory.available_bytes, 8000U * 1024);
  EXPECT_FALSE(memory.limit_bytes);
}

TEST_F(Memory, EachGroupAboveThisProcessLimitsIt) {
  write("proc/self/cgroup", "0::/user/job\n");
  write("sys/fs/cgroup/user/job/memory.max", "max\n");
  write("sys/fs/cgroup/user/memory.max", "6000000\n");
  write("sys/fs/cgroup/user/memory.current", "5000000\n");
  write("sys/fs/cgroup/user/memory.stat", "anon 1000000\nactive_file 7\ninactive_file 3000000\n");
  const auto memory = memory_of_machine(root_.path());
  EXPECT_EQ(memory.limit_bytes, 6000000U);
  EXPECT_EQ(memory.available_bytes, 4000000U) << "cached files make room";
}

TEST_F(Memory, OfAContainerThatSeesItsOwnGroupOnly) {
  write("proc/self/cgroup", "0::/docker/1234\n");
  write("sys/fs/cgroup/memory.max", "2000000\n");
  write("sys/fs/cgroup/memory.current", "2500000\n"); // just lowered
  EXPECT_EQ(memory_of_machine(root_.path()).available_bytes, 0U);
}

TEST_F(Memory, OfTheFirstVersionOfGroups) {
  write("proc/self/cgroup", "12:cpuset:/a\n4:memory:/a\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); // none
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "3000000\n");
  write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1000000\n");
  write("sys/fs/cgroup/memory/a/memory.stat", "cache 9\ntotal_inactive_file 400000\n");
  const auto memory = memory_of_machine(root_.path());
  EXPECT_EQ(memory.limit_bytes, 3000000U);
  EXPECT_EQ(memory.available_bytes, 2400000U);
}

} // namespace
} // namespace dlhost::env
