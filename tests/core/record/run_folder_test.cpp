#include "record/run_folder.h"

#include "fake_host.h"

namespace dlhost::record {
namespace {

class RunFolderTest : public RecordTest {};

TEST_F(RunFolderTest, NamesAFreshFolderForEachRun) {
  const auto first = RunFolder::make(host_, folder_ / "runs", "digits");
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first->path(), folder_ / "runs/digits-20261121T071000Z-1");
  const auto second = RunFolder::make(host_, folder_ / "runs", "digits");
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(second->path(), folder_ / "runs/digits-20261121T071000Z-2");
}

TEST_F(RunFolderTest, AJobsNameCannotLeaveTheFolder) {
  const auto run = RunFolder::make(host_, folder_.path(), "../a b/c");
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->path(), folder_ / "run..-a-b-c-20261121T071000Z-1");
}

TEST_F(RunFolderTest, NewestGoesByTimeAndNumberNotByName) {
  ASSERT_TRUE(RunFolder::make(host_, folder_.path(), "zebra").ok());
  host_.wall += 1;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(RunFolder::make(host_, folder_.path(), "ant").ok());
  std::filesystem::create_directory(folder_ / "something-else");
  const auto any = RunFolder::newest(host_.disk(), folder_.path(), "");
  ASSERT_TRUE(any.ok()) << any.status().message();
  EXPECT_EQ(*any, folder_ / "ant-20261121T071001Z-10");
  const auto of_job = RunFolder::newest(host_.disk(), folder_.path(), "zebra");
  ASSERT_TRUE(of_job.ok()) << of_job.status().message();
  EXPECT_EQ(*of_job, folder_ / "zebra-20261121T071000Z-1");
  EXPECT_EQ(RunFolder::newest(host_.disk(), folder_.path(), "zeb").status().code(), Code::not_found);
  EXPECT_EQ(RunFolder::newest(host_.disk(), folder_ / "nowhere", "").status().code(), Code::not_found);
}

TEST_F(RunFolderTest, ANamedFolderMustBeFree) {
  const auto run = RunFolder::make_at(host_, folder_ / "mine");
  ASSERT_TRUE(run.ok()) << run.status().message();
  const auto again = RunFolder::make_at(host_, folder_ / "mine");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().code(), Code::exists);
  EXPECT_NE(again.status().message().find("--resume"), std::string::npos) << again.status().message();
  EXPECT_TRUE(RunFolder::open(host_, folder_ / "mine").ok());
  std::filesystem::create_directory(folder_ / "other");
  EXPECT_EQ(RunFolder::open(host_, folder_ / "other").status().code(), Code::not_found);
}

// Simulates another run that takes each folder between this run's check and its claim.
class RacedDisk final : public env::PosixDisk {
 public:
  Status make_directory(const std::string& path) override {
    DLHOST_TRY(PosixDisk::make_directory(path));
    if (races-- <= 0) return {};
    DLHOST_ASSIGN(const auto log, open_log(path + "/started"));
    return log->append("the other run\n");
  }
  int races = 0;
};

TEST_F(RunFolderTest, OnlyOneOfTwoRunsGetsAFolder) {
  RacedDisk disk;
  host_.set_disk(disk);
  disk.races = 1;
  EXPECT_EQ(RunFolder::make_at(host_, folder_ / "raced").status().code(), Code::exists);
  disk.races = 2;
  const auto run = RunFolder::make(host_, folder_.path(), "digits");
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->path(), folder_ / "digits-20261121T071000Z-3");
}

TEST_F(RunFolderTest, KeepsEveryTextOfTheJob) {
  const auto run = RunFolder::make_at(host_, folder_ / "run");
  ASSERT_TRUE(run.ok()) << run.status().message();
  ASSERT_TRUE(run->write_job("a = 1\n").ok());
  ASSERT_TRUE(run->write_job("a = 1\n").ok());
  EXPECT_FALSE(host_.disk().exists(run->file("job-2.toml")));
  ASSERT_TRUE(run->write_job("a = 2\n").ok());
  ASSERT_TRUE(run->write_job("a = 2\n").ok());
  EXPECT_EQ(*host_.disk().read_text(run->file("job.toml")), "a = 1\n");
  EXPECT_EQ(*host_.disk().read_text(run->file("job-2.toml")), "a = 2\n");
  EXPECT_FALSE(host_.disk().exists(run->file("job-3.toml")));
  EXPECT_EQ(RunFolder::job_in(host_.disk(), run->path()), run->file("job-2.toml"));
  ASSERT_TRUE(run->write_job("a = 1\n").ok()) << "what was run last is the newest, though it was there before";
  EXPECT_EQ(RunFolder::job_in(host_.disk(), run->path()), run->file("job-3.toml"));
  EXPECT_EQ(RunFolder::job_in(host_.disk(), folder_.path()), "");
}

} // namespace
} // namespace dlhost::record
