// Files and folders that other users could change, and links between them.
#include "corpus.h"

#include <sys/stat.h>
#include <unistd.h>

namespace dlhost::plugin {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

TEST_F(CorpusTest, WrongOwner) {
  const auto path = copy_of("plain");
  if (chown(path.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give a file to somebody else";
  if (trusted_by_process().program_owner == 12345) GTEST_SKIP() << "this test program belongs to user 12345";
  EXPECT_THAT(told(), AllOf(HasSubstr(path.string()), HasSubstr("neither root nor you nor the owner of dlhost")));
}

TEST_F(CorpusTest, FileThatEveryoneCanChange) {
  const auto path = copy_of("plain");
  chmod(path.c_str(), 0666);
  EXPECT_THAT(told(), HasSubstr(concat("the file ", path.string(), " can be changed by everyone: chmod o-w")));
}

TEST_F(CorpusTest, FileThatAForeignGroupCanChange) {
  const auto path = copy_of("plain");
  if (chown(path.c_str(), 0, 12345) != 0) GTEST_SKIP() << "only root can give a file to a foreign group";
  chmod(path.c_str(), 0664);
  EXPECT_THAT(told(), HasSubstr("by a group that is not its owner's own: chmod g-w"));
}

TEST_F(CorpusTest, FolderThatEveryoneCanChange) {
  copy_of("plain");
  chmod(entry_.path.c_str(), 0777);
  EXPECT_THAT(told(), HasSubstr("unknown initializer 'bad'"));
  EXPECT_THAT(host_.logged, AllOf(HasSubstr(concat("the plugin folder ", entry_.path, " (test) is not used")),
                                  HasSubstr("can be changed by everyone")));
}

TEST_F(CorpusTest, LinkIntoAFolderThatEveryoneCanChange) {
  const auto path = copy_of("plain");
  const std::filesystem::path open = folder_ / "open";
  fs::create_directory(open);
  fs::rename(path, open / "bad.so");
  fs::create_symlink(open / "bad.so", path);
  EXPECT_EQ(told(), "");
  chmod(open.c_str(), 0777);
  EXPECT_THAT(told(), HasSubstr(concat("the folder ", open.string(), " can be changed by everyone")));
}

TEST_F(CorpusTest, LinkThroughAFolderThatIsALink) {
  const auto path = copy_of("plain");
  const std::filesystem::path open = folder_ / "open";
  fs::create_directories(open / "inner");
  fs::copy_file(path, open / "bad.so");
  fs::rename(path, folder_ / "bad.so"); // the file that the text of the link seems to name
  fs::create_directory_symlink(open / "inner", folder_ / "sub");
  fs::create_symlink(concat(folder_ / "sub", "/../bad.so"), path);
  EXPECT_EQ(told(), "");
  chmod(open.c_str(), 0777);
  EXPECT_THAT(told(), HasSubstr(concat("the folder ", open.string(), " can be changed by everyone")));
}

TEST_F(CorpusTest, LinksThatLeadNowhere) {
  const auto path = copy_of("plain");
  fs::remove(path);
  fs::create_symlink("missing.so", path);
  EXPECT_THAT(told(), AllOf(HasSubstr("where the link leads"), HasSubstr("No such file")));
  fs::remove(path);
  fs::create_symlink("bad.so", path);
  EXPECT_THAT(told(), HasSubstr("leads round in a circle"));
}

TEST_F(CorpusTest, NoRegularFile) {
  const auto path = copy_of("plain");
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(told(), HasSubstr("it is not a regular file"));
}

} // namespace
} // namespace dlhost::plugin
