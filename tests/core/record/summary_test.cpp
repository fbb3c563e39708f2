#include "record/summary.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "fake_host.h"

namespace dlhost::record {
namespace {

using Json = nlohmann::json;

Summary of_a_run() {
  return {.status = "done",
          .reason = "30 epochs",
          .steps = 840,
          .epochs = 30,
          .seconds = 4.2,
          .train = {{"loss", 0.01}, {"accuracy", 0.998}},
          .validation = {},
          .test = {{"loss", std::nan("")}, {"accuracy", 0.975}},
          .best = {},
          .items_per_second = 12345,
          .step_median = 0.005,
          .step_least = 0.004,
          .input_wait_seconds = 0.1,
          .workers = {},
          .peak_rss_bytes = 100 << 20,
          .started_rss_bytes = 30 << 20,
          .plan_hash = "abc",
          .job_hash = "def",
          .versions = {{"dlhost", "0.1.0"}},
          .job_name = "digits",
          .folder = "runs/digits-1",
          .next = {{"dlhost plot runs/digits-1", "draws the curves"}, {"dlhost eval", "tests it again"}}};
}

TEST(Summary, NamesAreShownWithoutTheirControlCharacters) {
  Summary summary = of_a_run();
  summary.job_name = "red\x1b[31m";
  summary.folder = "runs/\x1b]0;title\x07";
  const std::string table = summary_table(summary, true);
  EXPECT_NE(table.find("red\\x1b[31m: done"), std::string::npos) << table;
  EXPECT_EQ(table.find_first_of("\x1b\x07"), std::string::npos) << table;
}

TEST(Summary, HasExactlyThePromisedFields) {
  const auto json = nlohmann::ordered_json::parse(summary_json(of_a_run()));
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"status",           "reason",        "steps",
                                             "epochs",           "seconds",       "train",
                                             "validation",       "test",          "best",
                                             "items_per_second", "step_seconds",  "input_wait_seconds",
                                             "workers",          "contributions", "codec",
                                             "factors",          "loss_scale",    "recoveries",
                                             "replacements",     "ledgers",       "unsaved_checkpoints",
                                             "peak_rss_bytes",   "shared_bytes",  "started_rss_bytes",
                                             "plan_hash",        "job_hash",      "versions"}));
  EXPECT_EQ(json["steps"], 840);
  EXPECT_EQ(json["train"]["accuracy"], 0.998);
  EXPECT_EQ(json["step_seconds"]["median"], 0.005);
  EXPECT_EQ(json["step_seconds"]["min"], 0.004);
  EXPECT_TRUE(json["validation"].empty() && json["validation"].is_object());
  EXPECT_TRUE(json["test"]["loss"].is_null());
  EXPECT_TRUE(json["loss_scale"].is_null());
  EXPECT_EQ(json["versions"]["dlhost"], "0.1.0");
}

TEST(Summary, WhatComesNextFitsIntoEightyColumns) {
  auto summary = of_a_run();
  summary.next = {{"dlhost run --resume runs/digits-20261129T003706Z-1", "goes on from the newest checkpoint"},
                  {"dlhost plot runs/digits-20261129T003706Z-1", "draws the curves"}};
  const std::string table = summary_table(summary, false);
  EXPECT_NE(table.find("  next          dlhost run --resume runs/digits-20261129T003706Z-1\n"
                       "                  goes on from the newest checkpoint\n"
                       "                dlhost plot runs/digits-20261129T003706Z-1\n"
                       "                  draws the curves\n"),
            std::string::npos)
      << table;
}

TEST(Summary, ANetInHalfHasALossScale) {
  auto summary = of_a_run();
  summary.loss_scale = Summary::LossScale{.value = 4096, .skipped_steps = 5};
  const auto json = Json::parse(summary_json(summary));
  EXPECT_EQ(json["loss_scale"]["value"], 4096);
  EXPECT_EQ(json["loss_scale"]["skipped_steps"], 5);
  EXPECT_NE(summary_table(summary, false).find("4096; 5 steps not made"), std::string::npos);
}

TEST(Summary, TablesOfCountsStandBesideTheMetrics) {
  auto summary = of_a_run();
  summary.test_tables = {{"confusion", 2, 2, {3, 1, 0, 4}}};
  const auto json = Json::parse(summary_json(summary));
  EXPECT_EQ(json["test"]["confusion"].dump(), "[[3,1],[0,4]]");
  EXPECT_EQ(json["test"]["accuracy"], 0.975);
  EXPECT_NE(summary_table(summary, false).find("confusion: the class (row)"), std::string::npos);
}

TEST(Summary, TheTableLinesUp) {
  const std::string line(72, '-');
  EXPECT_EQ(summary_table(of_a_run(), false), line + R"(
digits: done (30 epochs)
                      loss    accuracy
  train               0.01       0.998
  test                 nan       0.975
  steps         840 in 30 epochs
  time          4.2 s, 12.3k items/s, 0.1 s waiting for input
  peak memory   100 MiB
  run folder    runs/digits-1
  next          dlhost plot runs/digits-1  draws the curves
                dlhost eval                tests it again
)" + line + "\n");
}

TEST(Summary, OfSeveralWorkersItSaysWhereTheirTimeWentAndWhatCameTooLate) {
  auto summary = of_a_run();
  summary.workers = {{.steps = 840,
                      .seconds = 4,
                      .input = 0.2,
                      .params = 0.4,
                      .serving = 0.6,
                      .waiting = 0.8,
                      .network = {.params = 3 << 20, .gradients = 0, .state = 1 << 10, .control = 64},
                      .each_step = record::Freight{.params = 4 << 10},
                      .awaits = ""},
                     {.steps = 839,
                      .seconds = 4,
                      .input = 0,
                      .params = 0.4,
                      .serving = 0,
                      .waiting = 1.6,
                      .network = {.params = 0, .gradients = 5 << 20, .state = 0, .control = 64},
                      .each_step = record::Freight{.gradients = 7 << 10},
                      .awaits = ""}};
  summary.contributions = 480;
  summary.late_contributions = 12;
  const std::string table = summary_table(summary, false);
  EXPECT_NE(table.find("\n  workers       2: 50% computing, 10% params, 8% serving, 30% waiting, 2% input\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("  network       3 MiB of params, 5 MiB of gradients, 1 KiB of state, 128 B of control between "
                       "machines; each step as planned: 4 KiB and 7 KiB\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("  too late      12 of 480 contributions\n"), std::string::npos) << table;
  const auto json = Json::parse(summary_json(summary));
  EXPECT_EQ(json["workers"][1]["steps"], 839);
  EXPECT_EQ(json["workers"][1]["computing"], 2);
  EXPECT_EQ(json["workers"][1]["network"].dump(),
            R"({"control":64,"each_step":{"gradients":7168,"params":0},"gradients":5242880,"params":0,"state":0})");
  EXPECT_EQ(json["contributions"].dump(), R"({"arrived":480,"late":12})");
}

TEST(Summary, OfACodecAndOfFactorsItSaysWhatTheySaved) {
  auto summary = of_a_run();
  summary.encoded.dense = 64 << 20;
  summary.factored = {.sent = 3 << 10, .dense = 30 << 10};
  summary.encoded.sent = 2 << 20;
  const std::string table = summary_table(summary, false);
  EXPECT_NE(table.find("  encoded       64 MiB of contributions as 2 MiB, 3.12%, by each worker\n"), std::string::npos)
      << table;
  EXPECT_NE(table.find("  as factors    30 KiB of contributions as 3 KiB, 10%, by each worker\n"), std::string::npos)
      << table;
  const auto json = Json::parse(summary_json(summary));
  EXPECT_EQ(json["codec"].dump(), R"({"dense_bytes":67108864,"encoded_bytes":2097152})");
  EXPECT_EQ(json["factors"].dump(), R"({"dense_bytes":30720,"sent_bytes":3072})");
}

class SummaryFile : public RecordTest {};

TEST_F(SummaryFile, LiesInTheRunsFolder) {
  const auto run = RunFolder::make_at(host_, folder_ / "run");
  ASSERT_TRUE(run.ok()) << run.status().message();
  ASSERT_TRUE(write_summary(host_.disk(), *run, of_a_run()).ok());
  const auto text = host_.disk().read_text(folder_ / "run/summary.json");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(Json::parse(*text)["status"], "done");
}

} // namespace
} // namespace dlhost::record
