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

TEST_F(DiskTest, WritesAndReads) {
  ASSERT_TRUE(disk.write_text(at("a"), "hello").ok());
  ASSERT_TRUE(disk.write_text(at("a"), "world!").ok());
  const auto text = disk.read_text(at("a"));
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "world!");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
  auto file = disk.open(at("a"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->size(), 6U);
  const auto map = (*file)->map();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(map.data()), map.size()), "world!");
  std::byte letters[3];
  ASSERT_TRUE((*file)->read_at(2, letters).ok());
  EXPECT_EQ(static_cast<char>(letters[0]), 'r');
  EXPECT_EQ((*file)->read_at(5, letters).code(), Code::corrupt);
}

TEST_F(DiskTest, AFileThatIsNotCommittedIsNotThere) {
  ASSERT_TRUE(disk.write_text(at("a"), "old").ok());
  {
    auto file = disk.create(at("a"));
    ASSERT_TRUE(file.ok());
    const std::vector<std::byte> much(1 << 20);
    ASSERT_TRUE((*file)->append(much).ok());
    EXPECT_EQ(*disk.read_text(at("a")), "old");
  }
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
  EXPECT_EQ(*disk.read_text(at("a")), "old");
}

TEST_F(DiskTest, CommitsOnce) {
  auto file = disk.create(at("a"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->commit().ok());
  EXPECT_EQ((*file)->commit().code(), Code::internal);
}

TEST_F(DiskTest, ReadsNoMoreThanAllowed) {
  ASSERT_TRUE(disk.write_text(at("a"), "12345").ok());
  EXPECT_EQ(disk.read_text(at("a"), 4).status().message(), at("a") + ": 5 bytes, but at most 4 are read here");
}

TEST_F(DiskTest, SaysWhatIsMissing) {
  EXPECT_EQ(disk.open(at("none")).status().message(), "cannot open " + at("none") + ": No such file or directory");
  EXPECT_EQ(disk.open(at("none")).status().code(), Code::not_found);
  EXPECT_EQ(disk.open(folder).status().message(), "cannot open " + folder + ": it is a folder, not a file");
  EXPECT_EQ(disk.create(at("none/a")).status().code(), Code::not_found);
  EXPECT_EQ(disk.create(folder + "/").status().code(), Code::invalid);
  EXPECT_EQ(disk.list(at("none")).status().code(), Code::not_found);
}

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

TEST_F(DiskTest, LogsGrow) {
  for (const char* line : {"one\n", "two\n"}) {
    auto log = disk.open_log(at("log"));
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE((*log)->append(line).ok());
    ASSERT_TRUE((*log)->sync().ok());
  }
  EXPECT_EQ(*disk.read_text(at("log")), "one\ntwo\n");
}

TEST_F(DiskTest, Folders) {
  ASSERT_TRUE(disk.make_directory(at("x/y/z")).ok());
  ASSERT_TRUE(disk.make_directory(at("x/y/z")).ok());
  ASSERT_TRUE(disk.write_text(at("x/file"), "12").ok());
  const auto entries = disk.list(at("x"));
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[0].name, "file");
  EXPECT_EQ((*entries)[0].size, 2U);
  EXPECT_FALSE((*entries)[0].directory);
  EXPECT_TRUE((*entries)[1].directory);
  EXPECT_FALSE(disk.make_directory(at("x/file")).ok());
  EXPECT_TRUE(disk.exists(at("x/y")));
  ASSERT_TRUE(disk.remove(at("x")).ok());
  EXPECT_FALSE(disk.exists(at("x")));
  EXPECT_TRUE(disk.remove(at("x")).ok());
}

TEST_F(DiskTest, RenameReplacesFilesAndFolders) {
  ASSERT_TRUE(disk.write_text(at("a"), "1").ok());
  ASSERT_TRUE(disk.write_text(at("b"), "2").ok());
  ASSERT_TRUE(disk.rename(at("a"), at("b")).ok());
  EXPECT_EQ(*disk.read_text(at("b")), "1");
  ASSERT_TRUE(disk.make_directory(at("new")).ok());
  ASSERT_TRUE(disk.make_directory(at("old")).ok());
  ASSERT_TRUE(disk.write_text(at("new/n"), "n").ok());
  ASSERT_TRUE(disk.write_text(at("old/o"), "o").ok());
  const Status status = disk.rename(at("new"), at("old"));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(disk.exists(at("old/n")));
  EXPECT_FALSE(disk.exists(at("old/o")));
  EXPECT_FALSE(disk.exists(at("new")));
  EXPECT_EQ(disk.rename(at("none"), at("b")).code(), Code::not_found);
}

} // namespace
} // namespace dlhost::env
