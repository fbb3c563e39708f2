// Files on a real disk: whole or absent, with errors that name the remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <csignal>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

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
  // /dev/full accepts no byte, like a full disk.
  auto log = disk.open_log("/dev/full");
  ASSERT_TRUE(log.ok()) << log.status().message();
  const Status status = (*log)->append("x");
  EXPECT_EQ(status.code(), Code::no_space);
  EXPECT_THAT(status.message(), testing::StartsWith("cannot write /dev/full: No space left on device"));
  EXPECT_THAT(status.message(), testing::EndsWith("; free some space, or choose another folder"));
}

// Pipes and devices, which may block or never end, are refused as files, without blocking.
TEST_F(DiskTest, OnlyFilesAreRead) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(disk.open(at("pipe")).status().message(), "cannot open " + at("pipe") + ": it is a pipe, not a file");
  EXPECT_FALSE(disk.open_log(at("pipe")).ok());
  EXPECT_EQ(disk.read_text("/dev/zero").status().message(), "cannot open /dev/zero: it is a device, not a file");
  EXPECT_EQ(disk.open(folder).status().message(), "cannot open " + folder + ": it is a folder, not a file");
}

TEST_F(DiskTest, APathDoesNotEndAtAZero) {
  ASSERT_TRUE(disk.write_text(at("a"), "mine").ok());
  const std::string path = at("a") + std::string("\0b", 2);
  const auto said = testing::HasSubstr(at("a") + "\\0...: a path with a byte of zero names nothing");
  EXPECT_THAT(disk.read_text(path).status().message(), said);
  EXPECT_THAT(disk.write_text(path, "yours").message(), said);
  EXPECT_THAT(disk.open_log(path).status().message(), said);
  EXPECT_THAT(disk.list(path).status().message(), said);
  EXPECT_THAT(disk.make_directory(path).message(), said);
  EXPECT_THAT(disk.rename(at("a"), path).message(), said);
  EXPECT_THAT(disk.remove(path).message(), said);
  EXPECT_FALSE(disk.exists(path));
  EXPECT_EQ(*disk.read_text(at("a")), "mine");
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
  EXPECT_EQ(*disk.read_text(at("log")), std::string(900, 'a')); // and no part of the second
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "log"}));
}

} // namespace
} // namespace dlhost::env
