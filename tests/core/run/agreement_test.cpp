// Params with their own consistency handler: it decides about them only. Params whose handler does not agree with the
// job's are refused at their place in the job.
#include <algorithm>

#include "simulated.h"

namespace dlhost::test {
namespace {

class AgreementTest : public SimulationTest {
 protected:
  std::string refusal(const std::string& text, const std::vector<std::string>& set) {
    const std::string path = folder_ / "job.toml";
    EXPECT_TRUE(host_.disk().write_text(path, text).ok());
    const auto job = config::load(host_.disk(), path, set, *registry_);
    if (!job.ok()) return job.status().message();
    const auto session = run::Session::open(host_, *registry_, *job, run::Purpose::looking);
    return session.ok() ? "" : session.status().message();
  }
  static std::string beside(const std::string& handler) { return tally_job(false, handler); }
};

// A fault of either handler is reported for its own param only.
TEST_F(AgreementTest, AParamsServersKeepToItsOwnHandler) {
  const std::vector<std::string> settings{"topology.workers_per_group=4", "topology.servers_per_group=2",
                                          "topology.slice_elements=20"};
  const auto told = [&](const char* fault) {
    const std::string handler = concat("{ type = \"faulty\", fault = \"", fault, "\" }");
    return simulate_whatever_comes(beside(handler), settings, {.seed = 3}).status.message();
  };
  EXPECT_EQ(told("none"), "");
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_THAT(told("serves_early"), AllOf(HasSubstr("'twin.applied'"), HasSubstr("promise a staleness of 0")));
  EXPECT_THAT(told("misses_one"), HasSubstr("of 'twin.applied' is not in"));
}

// A worker plans each param by its handler, and the ledger shows the result.
TEST_F(AgreementTest, AWorkerKeepsToAParamsOwnPlan) {
  const auto run =
      simulate(beside(R"({ type = "elastic", alpha = 0.5, every = 8 })"),
               {"topology.worker_groups=2", R"(topology.consistency={ type = "elastic", alpha = 0.5 })"}, {.seed = 1});
  ASSERT_EQ(run.audit.slices.size(), 2U);
  for (const auto& slice : run.audit.slices)
    for (const std::size_t worker : {0U, 1U})
      EXPECT_EQ(tools::Audit::contributions(slice, worker), slice.param == "twin.applied" ? 3U : 6U) << slice.param;
}

// A param whose readers read it where it is updated has one place and is cut among servers; others are whole.
TEST_F(AgreementTest, AParamLiesAsItsOwnHandlerReadsIt) {
  const auto run = simulate(beside("\"bounded\""),
                            {"topology.worker_groups=2", "topology.servers_per_group=2", "topology.slice_elements=20",
                             "topology.consistency=hogwild"},
                            {.seed = 1});
  const auto pieces = [&](const char* param) {
    return std::ranges::count(run.audit.slices, param, &tools::Audit::Slice::param);
  };
  EXPECT_EQ(pieces("tally.applied"), 2);
  EXPECT_EQ(pieces("twin.applied"), 1);
  for (const auto& [name, sums] : run.params) EXPECT_THAT(sums, testing::Each(8)) << name;
}

TEST_F(AgreementTest, TheSameHandlerIsNoOther) {
  const std::vector<std::string> settings{"topology.worker_groups=2", "topology.consistency={ type = \"backup\" }"};
  EXPECT_EQ(refusal(beside("\"backup\""), settings), "");
  EXPECT_EQ(simulate(beside("\"backup\""), settings, {.seed = 1}).history,
            simulate(tally_job(false, "{ type = \"backup\" }"), settings, {.seed = 1}).history);
}

TEST_F(AgreementTest, EveryHandlerThatAgreesLearns) {
  for (const auto& [job, own] : {std::pair("bounded", "\"hogwild\""), std::pair("hogwild", "\"eventual\""),
                                 std::pair("eventual", R"({ type = "first_t", t = 2, choose = "slice" })"),
                                 std::pair(R"({ type = "eventual", push = 2 })", R"({ type = "eventual", fetch = 3 })"),
                                 std::pair("elastic", R"({ type = "elastic", every = 2 })")}) {
    SCOPED_TRACE(concat(job, " and ", own));
    const auto trained =
        train(small_job(), {"topology.worker_groups=3", "topology.servers_per_group=2", "topology.slice_elements=20",
                            "train.batch=6", "train.stop.steps=120", "updater.rate=0.01",
                            concat("topology.consistency=", job), concat("layer.fc1.param.weight.consistency=", own)});
    ASSERT_EQ(trained.test.size(), 1U);
    EXPECT_LT(trained.test[0].second, 0.5 * trained.losses.front());
  }
}

TEST_F(AgreementTest, WhatDoesNotAgreeIsRefusedWhereItStands) {
  const auto told = [&](const char* own, const char* job) {
    return refusal(beside(own), {"topology.worker_groups=2", concat("topology.consistency=", job)});
  };
  using testing::HasSubstr;
  EXPECT_THAT(told("\"bounded\"", "strict"),
              HasSubstr("job.toml:30:7: layer 'twin': param.applied.consistency = \"bounded\": under 'strict' "
                        "all groups' contributions make an update together"));
  EXPECT_THAT(told("\"strict\"", "eventual"), HasSubstr("leave it out, or let the two agree"));
  EXPECT_THAT(told("\"strict\"", "backup"), HasSubstr("'backup' chooses groups for whole steps"));
  EXPECT_THAT(told("{ type = \"first_t\", t = 2 }", "{ type = \"first_t\", t = 1 }"),
              HasSubstr("'first_t' chooses groups for whole steps"));
  EXPECT_THAT(told("\"elastic\"", "bounded"), HasSubstr("under 'elastic' workers have values of their own"));
  EXPECT_THAT(told("\"elastic\"", "{ type = \"eventual\", push = 2 }"),
              HasSubstr("under 'elastic' workers send differences, under 'eventual' they send gradients"));
  EXPECT_THAT(told("\"bouned\"", "bounded"), HasSubstr("did you mean 'bounded'?"));
  EXPECT_EQ(told("\"eventual\"", "bounded"), "");
}

} // namespace
} // namespace dlhost::test
