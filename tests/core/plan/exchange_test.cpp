// All combinations of handler, sync, codec, replicas, device, run_as and machines, without starting a worker: each is
// resolved, and is refused or keeps what the code that reads the plan relies on.
#include "plan/exchange.h"

#include <functional>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "plan/place.h"
#include "plan/refusals.h"

namespace dlhost::plan {
namespace {

constexpr std::uint64_t without_bound = ~std::uint64_t{0};

Declared::Handler handler(const char* name, Consistency::Traits traits, WorkerPlan first = {}) {
  return {.named = {name, {}}, .traits = traits, .first = first};
}

// What the bundled handlers declare, and some that no bundled one does.
const std::vector<Declared::Handler>& handlers() {
  static const std::vector<Declared::Handler> all{
      handler("strict", {.joint = true}),
      handler("backup", {.joint = true, .by_step = true, .may_drop = true}),
      handler("first_t by step, folding", {.joint = true, .by_step = true, .readers_overlap = true, .folds = true}),
      handler("first_t by slice", {.readers_overlap = true, .folds = true}),
      handler("bounded", {.readers_overlap = true, .staleness = 2}),
      handler("eventual", {.readers_overlap = true, .staleness = without_bound}),
      handler("eventual with own values", {.readers_overlap = true, .staleness = without_bound},
              {.update_locally = true}),
      handler("elastic", {.readers_overlap = true, .staleness = without_bound},
              {.update_locally = true, .send_delta = true, .delta_factor = 0.5F}),
      handler("hogwild", {.staleness = without_bound}),
      handler("joint and late", {.joint = true, .staleness = 3}),
      handler("folds in place", {.joint = true, .folds = true}),
      handler("own values in place", {.staleness = without_bound}, {.update_locally = true}),
      handler("own values, joint", {.joint = true, .readers_overlap = true}, {.update_locally = true}),
      handler("never pushes", {.joint = true}, {.push = false}),
      {.named = {"has a timer", {}}, .traits = {.joint = true}, .has_timer = true}};
  return all;
}

struct Drawn {
  config::Job job;
  Declared declared;
};

// Calls `look` with every combination.
void for_all(const std::function<void(const Drawn&)>& look) {
  using Of = Sync::Traits::Of;
  const std::vector<std::optional<Declared::Groups>> syncs{std::nullopt,
                                                           Declared::Groups{{.of = Of::learned}, false},
                                                           Declared::Groups{{.of = Of::learned, .every = 4}, true},
                                                           Declared::Groups{{.of = Of::gradients}, false},
                                                           Declared::Groups{{.of = Of::gradients, .every = 4}, false},
                                                           Declared::Groups{{.of = Of::contributions}, false}};
  const std::vector<std::pair<std::optional<Codec::Traits>, bool>> codecs{
      {std::nullopt, false},
      {Codec::Traits{.lossless = true}, false},
      {Codec::Traits{}, false},
      {Codec::Traits{.error_feedback = true}, true}};
  Drawn drawn;
  config::Topology& topology = drawn.job.topology;
  drawn.job.train.batch = 16;
  for (const auto& handler : handlers())
    for (const auto& sync : syncs)
      for (const auto& [codec, keeps] : codecs)
        for (const auto codec_of : {config::CodecOf::automatic, config::CodecOf::exchanges})
          for (const std::int64_t replicas : {1, 2})
            for (const auto copy : {config::Crossing::automatic, config::Crossing::none})
              for (const auto run_as : {config::RunAs::threads, config::RunAs::processes})
                for (const std::int64_t machines : {1, 2})
                  for (const std::int64_t per_group : {1, 2})
                    for (const bool reproducible : {false, true}) {
                      drawn.declared = {.handlers = {handler}, .codec = codec, .codec_keeps = keeps, .sync = sync};
                      topology.consistency = handler.named;
                      topology.codec.type = codec ? "codec" : "";
                      topology.codec_of = codec_of;
                      topology.sync.type = sync ? "sync" : "";
                      topology.worker_groups = 2;
                      topology.server_groups = sync ? 2 : 1;
                      topology.workers_per_group = per_group;
                      topology.replicas = replicas;
                      topology.copy = copy;
                      topology.run_as = run_as;
                      topology.machines = machines;
                      drawn.job.train.reproducible = reproducible;
                      look(drawn);
                    }
}

std::string refusal_of(const Drawn& drawn, const Exchange& exchange) {
  config::Problems problems;
  check_topology(drawn.job, problems);
  check_exchange(drawn.job, drawn.declared, exchange, problems);
  return problems.status().message();
}

std::string breach_of(const Drawn& drawn, const Exchange& exchange) {
  using Groups = Exchange::Groups;
  using Encodes = Exchange::Encodes;
  const config::Topology& topology = drawn.job.topology;
  const Declared::Handler& handler = drawn.declared.job();
  const std::vector<std::pair<bool, const char*>> rules{
      {exchange.groups != Groups::gossip || !exchange.in_step, "no group waits where groups gossip"},
      {!exchange.alike() || (exchange.in_step && drawn.declared.sync->traits.every == 1), "alike groups are in step"},
      {!exchange.versions_outlive || topology.machines == 1, "what outlives a worker is in its machine's memory"},
      {!exchange.versions_outlive || exchange.groups == Groups::one || exchange.groups == Groups::gossip,
       "exchanges need all groups"},
      {exchange.encodes != Encodes::exchanges || exchange.groups == Groups::values ||
           exchange.groups == Groups::gradients,
       "only rows of exchanges are encoded"},
      {!exchange.own_values || (topology.workers_per_group == 1 && handler.traits.readers_overlap && !exchange.joint),
       "a worker with values of its own is alone in its group"},
      {!exchange.workers_keep() || drawn.declared.codec_loses_nothing() || exchange.encodes != Encodes::contributions,
       "a difference is not lost"},
      {!handler.traits.folds || handler.traits.readers_overlap, "a value is not read while something is folded in"},
      {!drawn.job.train.reproducible || (exchange.in_step && exchange.groups == Groups::one && !drawn.declared.codec),
       "one order of sums"},
      {exchange.sums != Exchange::Sums::devices ||
           (exchange.groups == Groups::one && exchange.encodes == Encodes::nothing && !exchange.versions_outlive &&
            exchange.whole_versions && exchange.in_step),
       "devices sum what strict sums"},
      {!exchange.groups_go_on || (exchange.groups == Groups::gossip && !exchange.in_step && !exchange.workers_keep()),
       "nothing is lost with a group"},
      {!exchange.chooses_steps || exchange.by_step, "steps are chosen by step"},
      {!handler.has_timer, "core calls no timer"}};
  for (const auto& [holds, what] : rules)
    if (!holds) return what;
  return {};
}

TEST(Exchange, WhatIsNotRefusedKeepsWhatItsReadersRelyOn) {
  std::size_t all = 0, allowed = 0;
  for_all([&](const Drawn& drawn) {
    ++all;
    const Exchange exchange = Exchange::of(drawn.job, drawn.declared);
    const std::string refusal = refusal_of(drawn, exchange), breach = breach_of(drawn, exchange);
    if (!refusal.empty()) return;
    ++allowed;
    ASSERT_EQ(breach, "") << drawn.declared.job().named.type << ", sync " << drawn.job.topology.sync.type << ", codec "
                          << drawn.job.topology.codec.type << ", replicas " << drawn.job.topology.replicas;
  });
  EXPECT_EQ(all, 15U * 6 * 4 * 2 * 2 * 2 * 2 * 2 * 2 * 2);
  EXPECT_GT(allowed, all / 50);
}

// The reason alone may be what a person reads: it says what, and what to do.
TEST(Exchange, EachRefusalSaysWhatAndTheRemedy) {
  for_all([&](const Drawn& drawn) {
    const Exchange exchange = Exchange::of(drawn.job, drawn.declared);
    const std::string refusal = refusal_of(drawn, exchange);
    if (refusal.empty()) return;
    ASSERT_THAT(refusal, testing::HasSubstr("; "));
    ASSERT_THAT(refusal, testing::Not(testing::HasSubstr("''")));
  });
}

// No row is there for nothing.
TEST(Exchange, EachRowRefusesSomething) {
  std::set<std::string> used;
  const auto note = [&](const Drawn& drawn, const NetFacts& net = {}) {
    const Exchange exchange = Exchange::of(drawn.job, drawn.declared);
    const Asked asked{drawn.job, drawn.declared, exchange, net};
    for (const Refusal& row : refusals())
      for (const auto& handler : drawn.declared.handlers)
        if (row.is_asked(asked, handler)) used.insert(row.name);
  };
  for_all([&](const Drawn& drawn) { note(drawn); });
  Drawn drawn;
  config::Topology& topology = drawn.job.topology;
  const auto with = [&](const std::function<void()>& change) {
    drawn = {};
    drawn.job.train.batch = 16;
    topology.worker_groups = 2;
    change();
    note(drawn);
  };
  with([&] { topology.server_groups = 3; });
  with([&] { topology.server_groups = 2; });
  with([&] { topology.servers_per_group = 3; });
  with([&] { topology.sync.type = "ring"; });
  with([&] { topology.shares = {1, 2, 3}; });
  with([&] { topology.workers_per_group = 17; });
  with([&] { drawn.job.train.dtype = DType::f16, drawn.job.updater.clip_value = 1; });
  with([&] { drawn.job.train.reproducible = true, drawn.job.updater.clip_norm = 1; });
  with([&] {
    drawn.declared.handlers = {handlers()[0]}; // strict
    drawn.job.train.reproducible = true;
    topology.worker_groups = 3;
  });
  with([&] { topology.copy = config::Crossing::none, topology.device.type = "ref"; });
  with([&] { topology.copy = config::Crossing::none, topology.device_workers = 1; });
  for (const auto& [job, own] : {std::pair(0, 1), std::pair(0, 4), std::pair(0, 9), std::pair(4, 7), std::pair(6, 7)})
    with([&, job = job, own = own] {
      drawn.declared.handlers = {handlers()[static_cast<std::size_t>(job)], handlers()[static_cast<std::size_t>(own)]};
      drawn.declared.handlers[1].layer = "fc";
    });
  with([&] {
    drawn.declared.handlers = {handler("strict", {.joint = true}), handler("drops", {.joint = true, .may_drop = true})};
    drawn.declared.handlers[0].traits.joint = true;
    drawn.declared.handlers[1].layer = "fc";
  });
  note(drawn, {.sums_state = true, .carries = true});
  for (const Refusal& row : refusals()) EXPECT_TRUE(used.contains(row.name)) << row.name;
}

TEST(Exchange, TheGlobalBatchIsThatOfAllThatMakeAnUpdate) {
  config::Job job;
  job.train.batch = 16;
  job.topology.worker_groups = 4;
  job.topology.server_groups = 2;
  const auto place = [&](const Declared& declared) { return Place::at(job, 3, Exchange::of(job, declared)); };
  using Of = Sync::Traits::Of;
  const auto with = [](std::size_t number, Of of) {
    return Declared{.handlers = {handlers()[number]}, .sync = Declared::Groups{{.of = of}, false}};
  };
  EXPECT_EQ(place(with(0, Of::learned)).global_batch, 32); // strict, of the two groups that a server group serves
  EXPECT_EQ(place(with(5, Of::learned)).global_batch, 16); // eventual
  EXPECT_EQ(place(with(0, Of::gradients)).global_batch, 64);
  EXPECT_EQ(place(with(0, Of::gradients)).served, 2U);
  EXPECT_EQ(place(with(0, Of::contributions)).global_batch, 64);
  EXPECT_EQ(place(with(0, Of::contributions)).served, 4U);
}

} // namespace
} // namespace dlhost::plan
