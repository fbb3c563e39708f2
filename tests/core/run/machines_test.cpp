// Workers of several machines without shared memory: other machines have mirrors of the memory that one machine maps.
// In these tests they are tasks of one process that communicate over the loopback.
#include "several.h"

namespace dlhost::test {
namespace {

class MachinesTest : public Bench {
 protected:
  void SetUp() override {
    if (const std::string why = no_machines(*registry_); !why.empty()) GTEST_SKIP() << why;
  }
  // Compares one machine with `machines` machines.
  void expect_alike(const std::string& job, std::vector<std::string> set, int machines) {
    const auto one = train(job, set);
    set.push_back(concat("topology.machines=", machines));
    const auto several = train(job, set);
    EXPECT_EQ(one.losses, several.losses);
    EXPECT_EQ(one.params, several.params);
  }
};

// With lockstep the bits are equal: contributions are added in the order of the workers, on any machine.
TEST_F(MachinesTest, InStepItIsTheSameAsOnOne) {
  for (const auto& [count, servers, machines] : {std::tuple{2, 1, 2}, {2, 2, 2}, {4, 4, 2}, {4, 3, 4}, {5, 2, 3}}) {
    SCOPED_TRACE(concat(count, " workers, ", servers, " servers, ", machines, " machines"));
    expect_alike(small_job(), workers(count, servers), machines);
  }
}

// Small params travel inside messages, large ones separately.
TEST_F(MachinesTest, WithLargeParamsAndSmallOnes) {
  std::string job = small_job();
  job.replace(job.find("units = 9"), 9, "units = 400");
  for (const auto& [count, servers, machines] : {std::tuple{2, 2, 2}, {4, 3, 2}})
    expect_alike(job, workers(count, servers), machines);
  expect_alike(job,
               {"topology.worker_groups=3", "topology.server_groups=3", "train.batch=4",
                R"(topology.sync={ type = "halving", of = "gradients", direct = 100 })"},
               3);
}

// Each contribution to another machine's server crosses once, and each version crosses once to each machine.
TEST_F(MachinesTest, WhatCrossesTheNetworkIsCountedByKindAndToldBeforehand) {
  for (const auto& [count, servers, machines, factors] :
       {std::tuple{2, 2, 2, false}, {2, 1, 2, false}, {4, 4, 2, false}, {3, 3, 3, false}, {3, 3, 3, true}}) {
    SCOPED_TRACE(concat(count, " workers, ", servers, " servers, ", machines, " machines", factors ? ", factors" : ""));
    const auto all =
        train(small_job(), workers(count, servers,
                                   {concat("topology.machines=", machines),
                                    concat("topology.gradient_factors=\"", factors ? "on" : "off", "\"")}));
    record::Freight sent, each_step;
    for (const auto& worker : all.outcome.workers) {
      sent += worker.network;
      ASSERT_TRUE(worker.each_step);
      each_step += *worker.each_step;
    }
    const std::uint64_t steps = all.losses.size();
    EXPECT_EQ(sent.gradients, steps * each_step.gradients);
    EXPECT_EQ(sent.params, steps * each_step.params);
    std::uint64_t bytes = 0;
    for (const auto& [name, values] : all.params) bytes += values.size() * sizeof(float);
    EXPECT_EQ(each_step.params, bytes * static_cast<std::uint64_t>(machines - 1));
    if (!factors) {
      EXPECT_EQ(each_step.gradients, bytes * static_cast<std::uint64_t>(count - count / machines));
    }
    EXPECT_GT(sent.state, bytes); // the initial params
    EXPECT_GT(sent.control, steps);
  }
  for (const auto& worker : train(small_job(), workers(2, 2)).outcome.workers) {
    EXPECT_EQ(worker.network.all(), 0U);
    EXPECT_FALSE(worker.each_step);
  }
}

// For all traffic: messages, contributions of all kinds, values, and exchanges of server groups.
TEST_F(MachinesTest, EncryptedItIsTheSame) {
  for (const std::string what : {"encrypt", "encrypt_data"}) {
    SCOPED_TRACE(what);
    const std::string on = "topology." + what + "=true";
    expect_alike(small_job(), workers(3, 3, {on}), 3);
    expect_alike(small_job(), workers(4, 4, {on, "topology.gradient_factors=\"on\""}), 2);
    expect_alike(small_job(), workers(2, 2, {on, "topology.codec=\"int8\"", "topology.codec_elements=1"}), 2);
    expect_alike(small_job(),
                 {"topology.worker_groups=4", "topology.server_groups=4", "train.batch=3", on,
                  "topology.sync={ type = \"all_to_all\", every = 3 }"},
                 4);
  }
}

TEST_F(MachinesTest, GroupsOfSeveralMachinesGoInStep) {
  const std::vector<std::string> counts{"topology.worker_groups=2", "topology.workers_per_group=2",
                                        "topology.servers_per_group=2"};
  expect_alike(small_job(), counts, 2);
  std::vector<std::string> chosen = counts;
  chosen.insert(chosen.end(), {"topology.consistency={ type = \"first_t\", t = 2 }", "topology.machines=2"});
  const auto strict = train(small_job(), counts), first = train(small_job(), chosen);
  for (const auto& [name, values] : strict.params)
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], first.params.at(name)[i], 2e-5) << name;
}

// Groups run at their own pace: they learn, and no contribution is lost.
TEST_F(MachinesTest, UnderHandlersWhoseGroupsGoTheirOwnWay) {
  for (const std::string handler :
       {"\"eventual\"", "{ type = \"eventual\", fetch = 2, push = 3 }", "{ type = \"bounded\", bound = 2 }",
        "{ type = \"elastic\", alpha = 0.4, every = 2 }", "{ type = \"first_t\", t = 1 }",
        "{ type = \"first_t\", t = 1, late = \"fold\" }", "{ type = \"first_t\", t = 1, choose = \"slice\" }",
        "{ type = \"backup\", spares = 1 }", "\"hogwild\""}) {
    SCOPED_TRACE(handler);
    const auto trained =
        train(small_job(), {"topology.worker_groups=3", "topology.machines=3", "topology.consistency=" + handler,
                            "train.stop.steps=200", "updater.momentum=0.0"});
    ASSERT_EQ(trained.losses.size(), 200);
    EXPECT_LT(trained.losses.back(), 0.7 * trained.losses.front());
  }
}

TEST_F(MachinesTest, ServerGroupsExchangeAsOnOne) {
  for (const std::string sync : {"all_to_all", "chain", "diloco", "halving", "ring", "shares", "star", "twin_master"}) {
    SCOPED_TRACE(sync);
    expect_alike(small_job(),
                 {"topology.worker_groups=4", "topology.server_groups=4", "train.batch=3",
                  "topology.sync={ type = \"" + sync + "\", every = 3 }"},
                 4);
  }
  // Slices share rows.
  for (const std::string sync : {"all_to_all", "halving"})
    expect_alike(small_job(),
                 {"topology.worker_groups=4", "topology.server_groups=4", "train.batch=3", "topology.exchange_memory=1",
                  "topology.sync=" + sync},
                 2);
  // Two groups on each of two machines; groups that span machines.
  expect_alike(small_job(),
               {"topology.worker_groups=4", "topology.server_groups=4", "train.batch=3", "topology.sync=\"ring\""}, 2);
  expect_alike(small_job(),
               {"topology.worker_groups=2", "topology.workers_per_group=3", "topology.server_groups=2",
                "topology.servers_per_group=2", "topology.sync=\"ring\""},
               3);
}

TEST_F(MachinesTest, ServerGroupsAddUpGradientsAsOnOne) {
  for (const std::string sync : {"all_to_all", "halving", "hierarchical", "ring"})
    for (const int machines : {2, 4}) {
      SCOPED_TRACE(concat(sync, ", ", machines, " machines"));
      std::vector<std::string> set{"topology.worker_groups=4", "topology.server_groups=4", "train.batch=3",
                                   "topology.sync={ type = \"" + sync + "\", of = \"gradients\" }"};
      if (sync != "hierarchical") { // hierarchical adds in another order if ranks share a machine
        expect_alike(small_job(), set, machines);
        continue;
      }
      const auto one = train(small_job());
      set.push_back(concat("topology.machines=", machines));
      const auto several = train(small_job(), set);
      for (const auto& [name, values] : one.params)
        for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], several.params.at(name)[i], 1e-5);
    }
}

// Each worker's contribution goes unchanged to each machine once, and no other data.
TEST_F(MachinesTest, OfContributionsOnlyTheseCross) {
  for (const std::string sent :
       {R"(topology.codec="one_bit")", R"(topology.codec="top_k")", R"(topology.gradient_factors="on")"}) {
    SCOPED_TRACE(sent);
    std::vector<std::string> set{"topology.worker_groups=3", "train.batch=4", "topology.codec_elements=1", sent};
    const auto one = train(small_job(), set);
    set.insert(set.end(), {"topology.server_groups=3", "topology.machines=3",
                           R"(topology.sync={ type = "all_to_all", of = "contributions" })"});
    const auto several = train(small_job(), set);
    EXPECT_EQ(one.losses, several.losses);
    EXPECT_EQ(one.params, several.params);
    for (const auto& worker : several.outcome.workers) EXPECT_EQ(worker.network.params, 0U);
  }
}

// A machine's gradients are summed in memory first: each machine sends one sum, for any number of workers.
TEST_F(MachinesTest, ASumLeavesAMachineOnce) {
  const auto all = train(small_job(), {"topology.worker_groups=2", "topology.workers_per_group=3", "train.batch=6",
                                       "topology.server_groups=2", "topology.servers_per_group=3",
                                       "topology.machines=2", R"(topology.sync={ type = "ring", of = "gradients" })"});
  std::uint64_t gradients = 0, params = 0, bytes = 0;
  for (const auto& worker : all.outcome.workers) {
    gradients += worker.network.gradients;
    params += worker.network.params;
  }
  for (const auto& [name, values] : all.params) bytes += values.size() * sizeof(float);
  EXPECT_EQ(gradients, 2 * bytes * all.losses.size()); // each sends half, and gets half back as a sum
  EXPECT_EQ(params, 0U);
}

TEST_F(MachinesTest, GroupsThatGossipLearn) {
  const auto trained = train(small_job(), {"topology.worker_groups=3", "topology.server_groups=3",
                                           "topology.machines=3", "topology.consistency=\"eventual\"",
                                           "topology.sync=\"gossip\"", "train.stop.steps=200", "updater.momentum=0.0"});
  EXPECT_LT(trained.losses.back(), 0.7 * trained.losses.front());
}

TEST_F(MachinesTest, WhateverLeaves) {
  for (const std::string codec : {"bf16", "int8", "one_bit", "top_k", "power_sgd"}) {
    SCOPED_TRACE(codec);
    expect_alike(small_job(), workers(2, 2, {"topology.codec=\"" + codec + "\"", "topology.codec_elements=1"}), 2);
  }
  SCOPED_TRACE("factors");
  expect_alike(small_job(), workers(3, 3, {"topology.gradient_factors=\"on\""}), 3);
  expect_alike(small_job(), workers(2, 2, {"updater.clip_norm=0.1"}), 2);
}

// State of workers and servers is spread over machines, but their checkpoint is on one; also running state.
TEST_F(MachinesTest, ResumedEqualsNeverStopped) {
  const std::string two = "topology.machines=2";
  expect_resumed_alike(small_job(), workers(3, 2, {two}), 15);
  expect_resumed_alike(small_job(), workers(2, 2, {two, "topology.codec=\"one_bit\"", "topology.codec_elements=1"}),
                       15);
  expect_resumed_alike(
      small_job(),
      {two, "topology.worker_groups=2", "topology.server_groups=2", "topology.sync={ type = \"diloco\", every = 7 }"},
      15);
  expect_resumed_alike(normed_job(), workers(2, 1, {two}), 15);
}

} // namespace
} // namespace dlhost::test
