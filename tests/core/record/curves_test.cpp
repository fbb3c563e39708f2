#include "record/curves.h"

#include <cmath>

#include "fake_host.h"
#include "record/metrics_log.h"

namespace dlhost::record {
namespace {

constexpr std::string_view first = R"({"step":1,"epoch":0.1,"seconds":2,"phase":"train","rate":0.5,)"
                                   R"("metrics":{"loss":3,"accuracy":null},"items_per_second":9})"
                                   "\n";
constexpr std::string_view second = R"({"step":2,"epoch":0.2,"seconds":3,"phase":"train","rate":0.5,)"
                                    R"("metrics":{"loss":2,"accuracy":1},"items_per_second":9})"
                                    "\n";
constexpr std::string_view validation = R"({"step":2,"epoch":0.2,"seconds":3,"phase":"validation",)"
                                        R"("metrics":{"loss":4},"items_per_second":9})"
                                        "\n";
constexpr std::string_view resumed = "{\"step\":1,\"phase\":\"resumed\",\"resumed_from\":1}\n";

const Curve* find(const Curves& curves, std::string_view metric, std::string_view phase) {
  for (const Curve& curve : curves.curves)
    if (curve.metric == metric && curve.phase == phase) return &curve;
  return nullptr;
}

std::string message_of(std::string_view text) {
  const auto curves = parse_curves(text, "runs/a/metrics.jsonl");
  return curves.ok() ? "" : curves.status().message();
}

TEST(Curves, AreReadByMetricAndPhase) {
  const auto curves = parse_curves(concat(first, second, validation), "runs/a/metrics.jsonl");
  ASSERT_TRUE(curves.ok()) << curves.status().message();
  EXPECT_EQ(curves->run, "a");
  const Curve* loss = find(*curves, "loss", "train");
  ASSERT_NE(loss, nullptr);
  ASSERT_EQ(loss->points.size(), 2u);
  EXPECT_EQ(loss->points[1].step, 2);
  EXPECT_EQ(loss->points[1].epoch, 0.2);
  EXPECT_EQ(loss->points[1].seconds, 3);
  EXPECT_EQ(loss->points[1].value, 2);
  EXPECT_TRUE(std::isnan(find(*curves, "accuracy", "train")->points[0].value));
  EXPECT_EQ(find(*curves, "loss", "validation")->points[0].value, 4);
  EXPECT_EQ(find(*curves, "rate", "train")->points[0].value, 0.5);
  EXPECT_EQ(find(*curves, "items_per_second", "validation"), nullptr);
}

TEST(Curves, WhatAResumedRunRepeatsCountsOnce) {
  const auto curves = parse_curves(concat(first, second, validation, resumed, second), "a");
  ASSERT_TRUE(curves.ok()) << curves.status().message();
  EXPECT_EQ(find(*curves, "loss", "train")->points.size(), 2u);
  EXPECT_EQ(find(*curves, "loss", "validation")->points.size(), 0u);
}

TEST(Curves, TellWhatWasRecordedAtAStep) {
  const auto curves = parse_curves(concat(first, second, validation, resumed), "a");
  ASSERT_TRUE(curves.ok()) << curves.status().message();
  const auto metrics = recorded_at(*curves, "train", 1);
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[0], (std::pair<std::string, double>("loss", 3)));
  EXPECT_EQ(metrics[1].first, "accuracy");
  EXPECT_TRUE(recorded_at(*curves, "train", 2).empty());
  EXPECT_TRUE(recorded_at(*curves, "validation", 2).empty());
}

TEST(Curves, ALineThatWasCutShortIsForgivenAtTheEndOfASession) {
  EXPECT_EQ(message_of(concat(first, second.substr(0, 30))), "");
  EXPECT_EQ(message_of(concat(first, second.substr(0, 30), "\n", resumed, second)), "");
  EXPECT_EQ(message_of(first.substr(0, 30)), "");
  const std::string in_the_middle = message_of(concat(first, second.substr(0, 30), "\n", second));
  EXPECT_NE(in_the_middle.find("runs/a/metrics.jsonl:2"), std::string::npos) << in_the_middle;
}

TEST(Curves, ForeignFilesAreNamedWithTheirLine) {
  for (const std::string_view foreign :
       {"name = \"digits\"\n", "[1, 2]\n", "{\"a\": 1}\n", "\x89PNG\r\n", "7\n", "{\"step\":1,\"phase\":\"train\"}\n",
        "{\"step\":1,\"epoch\":1,\"seconds\":1,\"phase\":\"train\",\"metrics\":3}\n",
        "{\"step\":1,\"epoch\":1,\"seconds\":1,\"phase\":\"train\",\"metrics\":{\"loss\":\"low\"}}\n"}) {
    const std::string message = message_of(concat(foreign));
    EXPECT_NE(message.find("runs/a/metrics.jsonl:1: "), std::string::npos) << foreign << message;
    EXPECT_NE(message_of(concat(first, foreign, second)).find("runs/a/metrics.jsonl:2: "), std::string::npos)
        << foreign;
  }
}

class CurvesOfARun : public RecordTest {};

TEST_F(CurvesOfARun, ComeFromItsFolderOrItsFile) {
  const auto run = RunFolder::make_at(host_, folder_ / "mine");
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(read_curves(host_.disk(), folder_ / "mine").status().code(), Code::not_found);
  const std::vector<Metric> metrics = {{"loss", 0.5}};
  {
    auto log = MetricsLog::open(host_, *run);
    ASSERT_TRUE(log.ok()) << log.status().message();
    ASSERT_TRUE((*log)->train({.step = 1, .metrics = metrics}).ok());
  }
  for (const char* path : {"mine", "mine/", "mine/metrics.jsonl"}) {
    const auto curves = read_curves(host_.disk(), folder_ / path);
    ASSERT_TRUE(curves.ok()) << curves.status().message();
    EXPECT_EQ(curves->run, "mine");
    EXPECT_EQ(find(*curves, "loss", "train")->points[0].value, 0.5);
  }
  EXPECT_EQ(read_curves(host_.disk(), folder_ / "nowhere").status().code(), Code::not_found);
}

} // namespace
} // namespace dlhost::record
