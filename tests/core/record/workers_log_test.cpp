#include "record/workers_log.h"

#include <gtest/gtest.h>

#include "../../temporary_folder.h"
#include "env/real_host.h"
#include "record/curves.h"
#include "record/tail.h"

namespace dlhost::record {
namespace {

class WorkersLogTest : public testing::Test {
 protected:
  void append(const std::string& name, std::string_view text) {
    auto log = host_.disk().open_log(folder_ / name);
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE((*log)->append(text).ok());
  }

  env::RealHost host_;
  test::TemporaryFolder folder_;
};

TEST_F(WorkersLogTest, TheLastTwoReportsAreRead) {
  auto run = RunFolder::make_at(host_, folder_ / "run");
  ASSERT_TRUE(run.ok());
  EXPECT_TRUE(WorkersLog::newest(host_.disk(), run->path()).empty());
  auto log = WorkersLog::open(host_, *run);
  ASSERT_TRUE(log.ok());
  EXPECT_TRUE((*log)->due());
  EXPECT_FALSE((*log)->due());
  for (std::uint64_t step = 1; step <= 3; ++step)
    ASSERT_TRUE((*log)
                    ->add(step, {{.steps = step, .waiting = 0.5, .awaits = "fc.weight", .made = step + 2},
                                 {.steps = step - 1, .stale = 4}})
                    .ok());
  const auto reports = WorkersLog::newest(host_.disk(), run->path());
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].step, 2U);
  EXPECT_EQ(reports[1].step, 3U);
  ASSERT_EQ(reports[1].workers.size(), 2U);
  EXPECT_EQ(reports[1].workers[0].awaits, "fc.weight");
  EXPECT_EQ(reports[1].workers[0].waiting, 0.5);
  EXPECT_EQ(reports[1].workers[0].made, 5U);
  EXPECT_EQ(reports[1].workers[0].stale, 0U);
  EXPECT_EQ(reports[1].workers[1].steps, 2U);
  EXPECT_FALSE(reports[1].workers[1].made) << "no server is beside it";
  EXPECT_EQ(reports[1].workers[1].stale, 4U);
}

TEST_F(WorkersLogTest, LinesComeFromTheEndAndTornOnesDoNot) {
  EXPECT_TRUE(last_lines(host_.disk(), folder_ / "none").empty());
  append("log", "first\n\nthird\ntor");
  EXPECT_EQ(last_lines(host_.disk(), folder_ / "log"), (std::vector<std::string>{"third", "", "first"}));
  append("long", std::string(100'000, 'x') + "\nlast\n");
  EXPECT_EQ(last_lines(host_.disk(), folder_ / "long"), std::vector<std::string>{"last"});
}

TEST_F(WorkersLogTest, TheLastStepIsThatOfTheLastWholeRecord) {
  EXPECT_EQ(last_step(host_.disk(), folder_.path()), 0U);
  append("metrics.jsonl", "{\"step\":7,\"phase\":\"train\"}\n{\"step\":8,\"ph");
  EXPECT_EQ(last_step(host_.disk(), folder_.path()), 7U);
}

} // namespace
} // namespace dlhost::record
