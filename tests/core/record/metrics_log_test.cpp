#include "record/metrics_log.h"

#include <cmath>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "fake_host.h"

namespace dlhost::record {
namespace {

using Json = nlohmann::json;

class MetricsLogTest : public RecordTest {
 protected:
  void SetUp() override {
    RecordTest::SetUp();
    auto run = RunFolder::make_at(host_, folder_ / "run");
    ASSERT_TRUE(run.ok()) << run.status().message();
    run_ = std::move(*run);
  }

  std::unique_ptr<MetricsLog> open(const MetricsLogOptions& options = {}) {
    auto log = MetricsLog::open(host_, *run_, options);
    EXPECT_TRUE(log.ok()) << log.status().message();
    return log.ok() ? std::move(*log) : nullptr;
  }

  std::vector<Json> lines() {
    std::ifstream file(run_->file("metrics.jsonl"));
    std::vector<Json> read;
    for (std::string line; std::getline(file, line);) read.push_back(Json::parse(line, nullptr, false));
    return read;
  }

  std::optional<RunFolder> run_;
};

TEST_F(MetricsLogTest, WritesWhatWasReported) {
  const auto log = open();
  const std::vector<Metric> metrics = {{"loss", 0.1}, {"top \"5\"", 0.30000000000000004}};
  ASSERT_TRUE(log->train({.step = 7,
                          .total_steps = 9,
                          .epoch = 0.5,
                          .seconds = 1.25,
                          .metrics = metrics,
                          .items_per_second = 512,
                          .rate = 0.01})
                  .ok());
  ASSERT_TRUE(log->evaluation({.phase = "test", .step = 7, .epoch = 0.5, .seconds = 1.5, .metrics = metrics}).ok());
  const auto read = lines();
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0], Json::parse(R"({"step":7,"epoch":0.5,"seconds":1.25,"phase":"train","rate":0.01,
      "metrics":{"loss":0.1,"top \"5\"":0.30000000000000004},"items_per_second":512.0})"));
  EXPECT_EQ(read[1]["phase"], "test");
  EXPECT_EQ(read[1]["metrics"]["loss"], 0.1);
}

TEST_F(MetricsLogTest, NumbersThatAreNoneAreNull) {
  const auto log = open();
  const std::vector<Metric> metrics = {{"loss", std::nan("")}, {"big", std::numeric_limits<double>::infinity()}};
  ASSERT_TRUE(log->train({.step = 1, .metrics = metrics}).ok());
  const auto read = lines();
  ASSERT_EQ(read.size(), 1u);
  EXPECT_TRUE(read[0]["metrics"]["loss"].is_null());
  EXPECT_TRUE(read[0]["metrics"]["big"].is_null());
}

TEST_F(MetricsLogTest, ResumingAddsAfterATornLine) {
  { ASSERT_TRUE(open()->train({.step = 1}).ok()); }
  std::ofstream(run_->file("metrics.jsonl"), std::ios::app) << R"({"step":2,"ep)";
  ASSERT_TRUE(open({.resumed = true, .resumed_from = 1})->train({.step = 2}).ok());
  const auto read = lines();
  ASSERT_EQ(read.size(), 4u);
  EXPECT_EQ(read[0]["step"], 1);
  EXPECT_TRUE(read[1].is_discarded());
  EXPECT_EQ(read[2], Json::parse(R"({"step":1,"phase":"resumed","resumed_from":1})"));
  EXPECT_EQ(read[3]["step"], 2);
}

} // namespace
} // namespace dlhost::record
