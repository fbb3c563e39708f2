// Several server groups, each with a replica of its own, that exchange what they learn.
#include <cmath>

#include "trained.h"

namespace dlhost::test {
namespace {

using ServerGroupsTest = Bench;

std::vector<std::string> server_groups(int count, const std::string& sync, std::vector<std::string> more = {}) {
  more.insert(more.end(), {concat("topology.server_groups=", count), "topology.sync=" + sync,
                           "topology.slice_elements=20"}); // so that there is something to cut
  return more;
}

std::vector<std::string> one_each(int count, const std::string& sync, std::vector<std::string> more = {}) {
  more.push_back(concat("topology.worker_groups=", count));
  return server_groups(count, sync, std::move(more));
}

void expect_near(const Trained& one, const Trained& other) {
  for (const auto& [name, values] : one.params)
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], other.params.at(name)[i], 1e-5) << name << "[" << i << "]";
}

// Groups whose replicas become one after every step make the steps of one group with all their samples.
TEST_F(ServerGroupsTest, ExchangedAfterEachStepTheyTrainAsOne) {
  const auto one = train(small_job());
  for (const std::string sync :
       {"all_to_all", "chain", "halving", "hierarchical", "ring", "shares", "star", "twin_master"})
    for (const int count : {2, 3, 4}) {
      SCOPED_TRACE(concat(sync, ", ", count, " groups"));
      const auto several =
          train(small_job(), one_each(count, "\"" + sync + "\"", {concat("train.batch=", 12 / count)}));
      expect_near(one, several);
      EXPECT_EQ(several.losses.size(), one.losses.size());
    }
}

// The steps of one worker, whatever the updater has of history: one that does not take the mean of values for the value
// of means.
TEST_F(ServerGroupsTest, OfGradientsTheyTrainAsOneWithAnyUpdater) {
  const std::vector<std::string> adam{R"(updater={ type = "adam", rate = 0.01 })"};
  const auto one = train(small_job(), adam);
  const auto summed = [&](int groups, const std::string& sync, std::vector<std::string> more) {
    more.insert(more.begin(), adam.begin(), adam.end());
    return train(small_job(),
                 server_groups(groups, "{ type = \"" + sync + "\", of = \"gradients\" }", std::move(more)));
  };
  for (const std::string sync :
       {"all_to_all", "chain", "halving", "hierarchical", "ring", "shares", "star", "twin_master"})
    for (const int count : {2, 3, 4}) {
      SCOPED_TRACE(concat(sync, ", ", count, " groups"));
      expect_near(one,
                  summed(count, sync, {concat("topology.worker_groups=", count), concat("train.batch=", 12 / count)}));
    }
  // Two groups of two workers each, with servers beside both; and one beside one of two.
  expect_near(one, summed(2, "halving", {"topology.worker_groups=4", "train.batch=3", "topology.servers_per_group=2"}));
  expect_near(one, summed(2, "ring", {"topology.worker_groups=3", "train.batch=4"}));
  expect_near(one, summed(2, "ring", {"topology.worker_groups=2", "train.batch=6", "topology.workers_per_group=2"}));
  expect_near(train(small_job(), {adam[0], "updater.clip_norm=0.5"}),
              summed(2, "halving", {"topology.worker_groups=2", "train.batch=6", "updater.clip_norm=0.5"}));
}

// Each group has all workers' contributions, and adds them up in the same order as servers that all have in common: bit
// for bit the same, whatever they are sent as.
TEST_F(ServerGroupsTest, OfContributionsTheyAreOneServerGroup) {
  const std::string sync = R"({ type = "all_to_all", of = "contributions" })";
  for (const std::string sent : {R"(topology.codec="bf16")", R"(topology.codec="one_bit")", R"(topology.codec="top_k")",
                                 R"(topology.codec="power_sgd")", R"(topology.gradient_factors="on")",
                                 R"(updater={ type = "adam", rate = 0.01 })"})
    for (const auto& [groups, workers] : {std::pair{2, 1}, {3, 1}, {2, 2}}) {
      SCOPED_TRACE(concat(sent, ", ", groups, " groups of ", workers));
      std::vector<std::string> set{concat("topology.worker_groups=", groups),
                                   concat("topology.workers_per_group=", workers),
                                   concat("train.batch=", 12 / groups),
                                   concat("topology.servers_per_group=", workers),
                                   "topology.codec_elements=1",
                                   "topology.slice_elements=20",
                                   sent};
      const auto one = train(small_job(), set);
      const auto several = train(small_job(), server_groups(groups, sync, set));
      EXPECT_EQ(one.losses, several.losses);
      EXPECT_EQ(one.params, several.params);
    }
}

TEST_F(ServerGroupsTest, OfGradientsResumedEqualsNeverStopped) {
  const auto settings = one_each(2, R"({ type = "halving", of = "gradients" })",
                                 {R"(updater={ type = "adam", rate = 0.01 })", "train.batch=6"});
  const auto whole = train(small_job(), settings);
  const std::string checkpoints = folder_ / "of_gradients";
  const auto first = train(small_job(), settings, 17, {}, checkpoints);
  const auto rest = train(small_job(), settings, 0, checkpoints);
  ASSERT_EQ(first.losses.size() + rest.losses.size(), whole.losses.size());
  EXPECT_TRUE(std::equal(rest.losses.begin(), rest.losses.end(), whole.losses.begin() + 17));
  EXPECT_EQ(rest.params, whole.params);
}

TEST_F(ServerGroupsTest, WhateverTheCounts) {
  const auto one = train(small_job());
  const std::vector<std::string> counts{"train.batch=3", "topology.worker_groups=4", "topology.workers_per_group=2"};
  for (const int servers : {1, 3}) {
    SCOPED_TRACE(concat(servers, " servers a group"));
    auto settings = counts;
    settings.push_back(concat("topology.servers_per_group=", servers));
    expect_near(one, train(small_job(), server_groups(2, "\"ring\"", settings)));
  }
}

// As if each update had been made by all: at half the rate the steps are those of the mean.
TEST_F(ServerGroupsTest, ASumMovesThemByAllThatWasLearned) {
  const auto mean = train(small_job(), one_each(2, "\"star\"", {"updater.momentum=0.0", "updater.rate=0.04"}));
  const auto sum =
      train(small_job(), one_each(2, "{ type = \"star\", sum = true }", {"updater.momentum=0.0", "updater.rate=0.02"}));
  expect_near(mean, sum);
}

// Sections of slices wait for the only place, and each element is what it would be without that.
TEST_F(ServerGroupsTest, SlicesThatShareRowsTrainAsThoseThatDoNot) {
  for (const std::string sync :
       {"all_to_all", "chain", "halving", "hierarchical", "ring", "shares", "star", "twin_master"}) {
    SCOPED_TRACE(sync);
    const auto settings = one_each(3, "\"" + sync + "\"", {"train.batch=4"});
    auto sharing = settings;
    sharing.emplace_back("topology.exchange_memory=1");
    const auto apart = train(small_job(), settings), shared = train(small_job(), sharing);
    if (sync == "ring" || sync == "halving" || sync == "shares")
      expect_near(shared, apart); // who adds up an element, and in which order, is by its place in a section
    else
      EXPECT_EQ(shared.params, apart.params);
    EXPECT_EQ(shared.losses.size(), apart.losses.size());
  }
  // Two servers a group; and what is encoded is not cut.
  for (const std::string codec : {"", R"({ type = "top_k" })"}) {
    auto settings = server_groups(
        2, "{ type = \"star\", every = 2 }",
        {"topology.worker_groups=2", "topology.workers_per_group=2", "train.batch=6", "topology.servers_per_group=2"});
    if (!codec.empty())
      settings.insert(settings.end(),
                      {"topology.codec=" + codec, "topology.codec_elements=1", R"(topology.codec_for="exchanges")"});
    auto sharing = settings;
    sharing.emplace_back("topology.exchange_memory=1");
    EXPECT_EQ(train(small_job(), sharing).params, train(small_job(), settings).params) << codec;
  }
}

// One exchange in the run, of one step: a rule that can be followed by hand.
TEST_F(ServerGroupsTest, DilocoMovesTheCommonValueWithMomentum) {
  const std::vector<std::string> plain{"updater.momentum=0.0", "updater.rate=0.02", "train.stop.steps=1"};
  const auto start = train(small_job(), {"updater.rate=0.0", "train.stop.steps=1"});
  const auto mean = train(small_job(), one_each(2, "\"all_to_all\"", plain));
  const auto outer =
      train(small_job(), one_each(2, "{ type = \"diloco\", every = 1, rate = 0.5, momentum = 0.8 }", plain));
  for (const auto& [name, values] : start.params)
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float learned = mean.params.at(name)[i] - values[i];
      EXPECT_NEAR(outer.params.at(name)[i], values[i] + 0.5F * (learned + 0.8F * learned), 1e-6) << name;
    }
  const auto averaging =
      train(small_job(), one_each(2, "{ type = \"diloco\", every = 3, rate = 1.0, momentum = 0.0 }"));
  expect_near(train(small_job(), one_each(2, "{ type = \"ring\", every = 3 }")), averaging);
}

const std::vector<std::string> rarely{"{ type = \"ring\", every = 5 }", "{ type = \"diloco\", every = 7 }"};

TEST_F(ServerGroupsTest, ExchangedRarelyTheyLearnAndAreTheSameTwice) {
  for (const std::string& sync : rarely) {
    SCOPED_TRACE(sync);
    const auto settings = one_each(3, sync, {"train.batch=4", "train.stop.steps=120"});
    const auto trained = train(small_job(), settings), again = train(small_job(), settings);
    EXPECT_LT(trained.losses.back(), 0.3 * trained.losses.front());
    EXPECT_EQ(trained.losses, again.losses);
    EXPECT_EQ(trained.params, again.params);
    const auto always = train(small_job(), one_each(3, "\"ring\"", {"train.batch=4", "train.stop.steps=120"}));
    EXPECT_NE(trained.losses, always.losses);
  }
}

// Each group's momentum, and that of the common value, go on as well.
TEST_F(ServerGroupsTest, ResumedEqualsNeverStopped) {
  for (const std::string& sync : rarely) {
    SCOPED_TRACE(sync);
    const std::string checkpoints = folder_ / ("resumed" + sync.substr(10, 4));
    auto settings = one_each(2, sync, {"topology.servers_per_group=1"});
    const auto whole = train(small_job(), [&] {
      auto pausing = settings;
      pausing.push_back("test.every={ steps = 17 }"); // replicas become one where people look
      return pausing;
    }());
    settings.push_back("test.every={ steps = 17 }");
    const auto first = train(small_job(), settings, 17, {}, checkpoints);
    const auto rest = train(small_job(), settings, 0, checkpoints);
    ASSERT_EQ(first.losses.size() + rest.losses.size(), whole.losses.size());
    EXPECT_TRUE(std::equal(rest.losses.begin(), rest.losses.end(), whole.losses.begin() + 17));
    EXPECT_EQ(rest.params, whole.params);
  }
}

// With versions that outlive their servers, whose histories lie in one of two places: after an odd number of steps, the
// second one.
TEST_F(ServerGroupsTest, ACheckpointHasTheNewestHistories) {
  const auto resumed = [&](int replicas) {
    const std::string checkpoints = folder_ / concat("of", replicas);
    auto settings =
        one_each(2, R"({ type = "gossip", every = 1000 })",
                 {R"(topology.consistency="eventual")", concat("topology.replicas=", replicas), "validate.every={}",
                  "test.every={}"}); // each is exchanged with what others have made by then
    settings.emplace_back("train.stop.steps=17");
    train(small_job(), settings, 0, {}, checkpoints);
    settings.back() = "train.stop.steps=40";
    return train(small_job(), settings, 0, checkpoints).params;
  };
  EXPECT_EQ(resumed(2), resumed(1));
}

// The untrained net's loss is the measure: other groups may have made steps before the leader makes its first one.
TEST_F(ServerGroupsTest, EveryHandlerLearns) {
  const double untrained = train(small_job(), {"train.batch=6", "train.stop.steps=1"}).losses.at(0);
  for (const std::string handler : {"eventual", "{ type = \"eventual\", push = 2, fetch = 3 }", "elastic", "hogwild",
                                    "bounded", "first_t", "backup", "{ type = \"first_t\", late = \"fold\" }",
                                    "{ type = \"first_t\", choose = \"slice\", late = \"fold\" }"})
    for (const std::string sync : {"{ type = \"ring\", every = 6 }", "{ type = \"gossip\", every = 6 }",
                                   "{ type = \"diloco\", every = 6, rate = 0.6, momentum = 0.5 }"}) {
      SCOPED_TRACE(concat(handler, ", ", sync));
      auto settings =
          server_groups(2, sync,
                        {"train.batch=6", "train.stop.steps=120", "updater.rate=0.01", "test.every={ steps = 50 }",
                         "topology.worker_groups=4", "topology.consistency=" + handler});
      const auto trained = train(small_job(), settings);
      EXPECT_EQ(trained.losses.size(), 120U);
      ASSERT_EQ(trained.test.size(), 1U);
      EXPECT_LT(trained.test[0].second, 0.6 * untrained);
    }
}

TEST_F(ServerGroupsTest, WhatCannotBeIsRefused) {
  const auto refusal = [&](const std::vector<std::string>& set) {
    const std::string path = folder_ / "job.toml";
    EXPECT_TRUE(host_.disk().write_text(path, small_job()).ok());
    auto job = config::load(host_.disk(), path, set, *registry_);
    if (!job.ok()) return job.status().message();
    Trained trained;
    return run(*job, trained, 0, {}, {}).message();
  };
  EXPECT_NE(refusal({"topology.worker_groups=1", "topology.server_groups=2", "topology.sync=\"ring\""})
                .find("each serves one at least"),
            std::string::npos);
  EXPECT_NE(refusal({"topology.worker_groups=2", "topology.server_groups=2"}).find("topology.sync: is missing"),
            std::string::npos);
  EXPECT_NE(refusal({"topology.worker_groups=2", "topology.sync=\"ring\""}).find("only with several server groups"),
            std::string::npos);
  EXPECT_NE(refusal(one_each(2, R"({ type = "ring", of = "gradients", every = 3 })")).find("before each"),
            std::string::npos);
  EXPECT_NE(refusal(one_each(2, R"({ type = "ring", of = "gradients" })", {R"(topology.consistency="eventual")"}))
                .find("do not make each step together"),
            std::string::npos);
  EXPECT_NE(refusal(one_each(2, "\"gossip\"")).find("where groups gossip no group waits"), std::string::npos);
  EXPECT_NE(refusal(one_each(2, "\"ring\"", {"topology.replicas=2"})).find("whose exchanges need all of them"),
            std::string::npos);
  const std::string bf16 = R"(topology.codec="bf16")", exchanges = R"(topology.codec_for="exchanges")";
  EXPECT_NE(refusal({bf16, exchanges, "topology.worker_groups=2"}).find("one server group"), std::string::npos);
  EXPECT_NE(refusal(one_each(2, R"({ type = "all_to_all", of = "contributions" })", {bf16, exchanges}))
                .find("exchanges nothing else"),
            std::string::npos);
  EXPECT_NE(refusal(one_each(2, "\"gossip\"", {bf16, exchanges, R"(topology.consistency="eventual")"})).find("gossips"),
            std::string::npos);
  EXPECT_NE(refusal(one_each(2, "\"ring\"", {exchanges, R"(topology.codec={ type = "top_k", feedback = false })"}))
                .find("set feedback = true"),
            std::string::npos);
  EXPECT_NE(refusal(one_each(2, "\"ring\"", {"train.batch=8", "train.reproducible=true"})).find("updates of its own"),
            std::string::npos);
}

} // namespace
} // namespace dlhost::test
