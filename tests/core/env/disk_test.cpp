// Files of real runs: whole or absent, and errors that say what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <csignal>
#include <stdlib.h>
#include <sys/resource.h>

#include "../../temporary_folder.h"
#include "env/disk.h"

namespace dlhost::env {
namespace {

class DiskTest : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder + "/" + name; }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    auto entries = disk.list(folder);
    EXPECT_TRUE(entries.ok()) << entries.status().message();
    for (const auto& entry : *entries) names.push_back(entry.name);
    return names;
  }

  const test::TemporaryFolder temporary;
  const std::string folder = temporary.path();
  PosixDisk disk;
};

TEST_F(DiskTest, FullDisk) {
  // /dev/full takes no byte, as a disk that is full.
  auto log = disk.open_log("/dev/full");
  ASSERT_TRUE(log.ok()) << log.status().message();
  const Status status = (*log)->append("x");
  EXPECT_EQ(status.code(), Code::no_space);
  EXPECT_THAT(status.message(), testing::StartsWith("cannot write /dev/full: No space left on device"));
  EXPECT_THAT(status.message(), testing::EndsWith("; free some space, or choose another folder"));
}

TEST_F(DiskTest, AWriteThatFailsLeavesTheOldFile) {
  ASSERT_TRUE(disk.write_text(at("a"), "old").ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = disk.write_text(at("a"), std::string(5000, 'x'));
  auto log = disk.open_log(at("log"));
  const Status whole = (*log)->append(std::string(900, 'a'));
  const Status torn = (*log)->append(std::string(900, 'b'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), Code::io);
  EXPECT_EQ(*disk.read_text(at("a")), "old");
  EXPECT_TRUE(whole.ok());
  EXPECT_EQ(torn.code(), Code::io);
  EXPECT_EQ(*disk.read_text(at("log")), std::string(900, 'a')); // and no half of the second
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "log"}));
}

} // namespace
} // namespace dlhost::env
