// The contract of every disk, real or simulated: files appear whole or not at all, logs grow, and errors name the
// missing file or folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "../../temporary_folder.h"
#include "env/disk.h"
#ifdef DLHOST_SIMULATION
#include "env/simulated/disk.h"
#endif

namespace dlhost::env {
namespace {

// A disk, and a folder on it.
struct Place {
  virtual ~Place() = default;
  virtual Disk& disk() = 0;
  virtual std::string folder() = 0;
};

struct Here final : Place {
  Disk& disk() override { return posix; }
  std::string folder() override { return temporary.path(); }
  test::TemporaryFolder temporary;
  PosixDisk posix;
};

#ifdef DLHOST_SIMULATION
struct Simulated final : Place {
  Simulated() { simulated_disk.make_directory(folder()).ignore("each test sees whether it is there"); }
  Disk& disk() override { return simulated_disk; }
  std::string folder() override { return "/some/folder"; }
  simulated::World world{1};
  simulated::SimulatedDisk simulated_disk{world, nullptr};
};
#endif

class DiskContract : public testing::TestWithParam<std::function<std::unique_ptr<Place>()>> {
 protected:
  std::string at(const std::string& name) const { return folder + "/" + name; }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    auto entries = disk.list(folder);
    EXPECT_TRUE(entries.ok()) << entries.status().message();
    for (const auto& entry : *entries) names.push_back(entry.name);
    return names;
  }

  const std::unique_ptr<Place> place = GetParam()();
  Disk& disk = place->disk();
  const std::string folder = place->folder();
};

TEST_P(DiskContract, WritesAndReads) {
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

TEST_P(DiskContract, AFileThatIsNotCommittedIsNotThere) {
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

TEST_P(DiskContract, CommitsOnce) {
  auto file = disk.create(at("a"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->commit().ok());
  EXPECT_EQ((*file)->commit().code(), Code::internal);
}

TEST_P(DiskContract, ReadsNoMoreThanAllowed) {
  ASSERT_TRUE(disk.write_text(at("a"), "12345").ok());
  EXPECT_EQ(disk.read_text(at("a"), 4).status().message(), at("a") + ": 5 bytes, but at most 4 are read here");
}

TEST_P(DiskContract, SaysWhatIsMissing) {
  EXPECT_EQ(disk.open(at("none")).status().message(), "cannot open " + at("none") + ": No such file or directory");
  EXPECT_EQ(disk.open(at("none")).status().code(), Code::not_found);
  EXPECT_EQ(disk.open(folder).status().message(), "cannot open " + folder + ": it is a folder, not a file");
  EXPECT_EQ(disk.create(at("none/a")).status().code(), Code::not_found);
  EXPECT_EQ(disk.create(folder + "/").status().code(), Code::invalid);
  EXPECT_EQ(disk.list(at("none")).status().code(), Code::not_found);
}

TEST_P(DiskContract, LogsGrow) {
  for (const char* line : {"one\n", "two\n"}) {
    auto log = disk.open_log(at("log"));
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE((*log)->append(line).ok());
    ASSERT_TRUE((*log)->sync().ok());
  }
  EXPECT_EQ(*disk.read_text(at("log")), "one\ntwo\n");
}

TEST_P(DiskContract, Folders) {
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

TEST_P(DiskContract, RenameReplacesFilesAndFolders) {
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

INSTANTIATE_TEST_SUITE_P(OfThisMachine, DiskContract, testing::Values([] { return std::make_unique<Here>(); }));
#ifdef DLHOST_SIMULATION
INSTANTIATE_TEST_SUITE_P(OfASimulatedOne, DiskContract, testing::Values([] { return std::make_unique<Simulated>(); }));
#endif

} // namespace
} // namespace dlhost::env
