// Consistency handlers: random histories of workers that pull, compute and push. No worker waits for ever or reads a
// value staler than the traits allow, and no contribution is lost that must be kept.
#include <algorithm>

#include <dlhost/consistency.h>
#include <dlhost/random.h>

#include "kinds/kinds.h"

namespace dlhost::conform {

namespace {

// Simulates core for one slice.
class Server {
 public:
  Server(Consistency& handler, std::uint32_t groups)
      : handler_(handler), own_(handler.traits().own_words + groups * handler.traits().words_each), in_(groups) {
    state_.groups = state_.contributors = state_.expected = groups;
    state_.own = own_;
    SliceState begun = view();
    handler_.on_put(begun);
  }

  GetVerdict get(std::uint16_t group, Version at_least) { return handler_.on_get(view(group), group, 0, at_least); }
  void update(const Contribution& contribution) {
    SliceState now = view(contribution.who.group);
    act(handler_.on_update(now, contribution), &contribution);
  }
  void let_time_pass() {
    SliceState now = view();
    if (handler_.next_timer(now) > 0) act(handler_.on_timer(now), nullptr);
  }
  void leave(std::uint32_t groups) {
    state_.groups = state_.contributors = groups;
    SliceState now = view();
    act(handler_.on_member(now), nullptr);
  }

  // A pause of all workers: held and folded contributions go into the current version.
  void pause() {
    if (!handler_.traits().folds) return;
    const float weight = handler_.weight_at_pause(view());
    ASSERT_GT(weight, 0) << "what was folded would be lost at a pause";
    folded_.insert(folded_.end(), held_.begin(), held_.end());
    held_.clear();
    bring_in_folded();
  }

  Version version() const { return state_.version; }
  std::size_t held() const { return held_.size() + folded_.size(); }
  bool holds(std::uint16_t group) const {
    return std::ranges::any_of(held_, [&](const Contribution& one) { return one.who.group == group; });
  }
  // The number of a worker's contributions in the value.
  std::uint64_t in(std::size_t worker) const { return in_[worker]; }
  std::uint64_t applied = 0, dropped = 0;

 private:
  SliceState view(std::uint32_t from = 0) {
    state_.held = held_;
    state_.from = from;
    return state_;
  }
  void bring_in_folded() {
    applied += folded_.size();
    for (const Contribution& folded : folded_) ++in_[folded.who.group];
    folded_.clear();
    state_.folded = 0;
  }
  void act(const UpdateVerdict& verdict, const Contribution* contribution) {
    using Act = UpdateVerdict::Act;
    ASSERT_TRUE(verdict.weight == verdict.weight && verdict.rate_factor >= 0);
    if (verdict.act == Act::hold && contribution) held_.push_back(*contribution);
    if (verdict.act == Act::drop && contribution) ++dropped;
    if (verdict.act == Act::fold) {
      ASSERT_TRUE(handler_.traits().folds) << "folds, though its traits do not say so";
      ASSERT_NE(contribution, nullptr) << "there is nothing to fold";
      ASSERT_GT(verdict.weight, 0) << "what has no weight is dropped";
      folded_.push_back(*contribution);
      state_.folded += verdict.weight;
      ASSERT_LE(folded_.size(), 2 * in_.size()) << "folds on and on, and makes no version";
    }
    if (verdict.act == Act::apply || verdict.act == Act::combine) bring_in_folded();
    if (verdict.act == Act::apply) {
      ASSERT_NE(contribution, nullptr) << "there is nothing to apply alone";
      ++applied;
      ++in_[contribution->who.group];
      ++state_.version;
    }
    if (verdict.act == Act::combine) {
      const std::size_t combined = held_.size() + (contribution ? 1 : 0);
      ASSERT_GT(combined, 0U) << "there is nothing to combine";
      applied += combined;
      for (const Contribution& held : held_) ++in_[held.who.group];
      if (contribution) ++in_[contribution->who.group];
      held_.clear();
      ++state_.version;
    }
  }

  Consistency& handler_;
  std::vector<std::uint64_t> own_;
  std::vector<Contribution> held_, folded_;
  std::vector<std::uint64_t> in_;
  SliceState state_;
};

struct Worker {
  std::uint64_t step = 0;
  Version have = 0;
  enum class At { pull, push } at = At::pull;
  bool released = false; // its last contribution is in the version that it knows
};

struct Outcome {
  Version version = 0;
  std::uint64_t applied = 0, dropped = 0, pushed = 0;
  bool operator==(const Outcome&) const = default;
};

// One history: the seed orders the workers' turns; each makes `steps` steps.
Outcome history(const Context& context, const std::string& name, std::uint32_t seed, std::uint32_t groups,
                std::uint64_t steps) {
  const auto handler = usable<Consistency>(context, name);
  Server server(*handler, groups);
  std::vector<Worker> workers(groups);
  Random random({seed, 4}, 0, 0);
  Outcome outcome;
  std::uint64_t turns = 0;
  std::uint32_t in = groups;
  const auto busy = [&] { return std::ranges::any_of(workers, [&](const Worker& w) { return w.step < steps; }); };
  while (busy()) {
    if (++turns > 1000 * steps * groups) throw std::runtime_error("somebody waits for ever");
    const auto who = static_cast<std::uint16_t>(random.below(groups));
    if (random.below(50) == 0) {
      for (std::uint16_t other = 0; other < groups; ++other)
        if (handler->traits().folds && server.holds(other)) workers[other].released = true;
      server.pause();
    }
    Worker& worker = workers[who];
    if (worker.step == steps) continue;
    const WorkerPlan plan = handler->plan(worker.step, worker.have);
    if (worker.at == Worker::At::pull && plan.pull) {
      const Version at_least = worker.released ? 0 : plan.at_least;
      if (server.get(who, at_least) == GetVerdict::wait) {
        server.let_time_pass();
        continue;
      }
      const std::uint64_t staleness = std::min(handler->traits().staleness, worker.step);
      for (std::size_t other = 0; !handler->traits().may_drop && other < workers.size(); ++other) {
        if (other == who) continue;
        EXPECT_GE(server.in(other), worker.step - staleness) << "answers with what is too old";
      }
      EXPECT_GE(server.version(), worker.have) << "goes back in versions";
      worker.have = server.version();
      worker.released = false;
    }
    if (worker.at == Worker::At::pull) {
      worker.at = Worker::At::push;
      continue;
    }
    worker.at = Worker::At::pull;
    ++worker.step;
    if (!plan.push) {
      if (worker.step == steps) server.leave(--in);
      continue;
    }
    ++outcome.pushed;
    Contribution contribution{.based_on = worker.have, .elements = 4};
    contribution.kind = plan.send_delta ? ContributionKind::delta : ContributionKind::dense;
    contribution.who = {.group = who, .step = worker.step - 1, .samples = {worker.step * 8, 8}};
    server.update(contribution);
    if (worker.step == steps) server.leave(--in); // leaves after its last step
  }
  EXPECT_EQ(server.applied + server.dropped + server.held(), outcome.pushed) << "an update is gone, or applied twice";
  outcome.version = server.version();
  outcome.applied = server.applied;
  outcome.dropped = server.dropped;
  EXPECT_TRUE(handler->traits().may_drop || outcome.dropped == 0) << "drops, though its traits say that it does not";
  return outcome;
}

void obeys_its_traits(const Context& context, const std::string& name) {
  for (const std::uint32_t groups : {1U, 2U, 5U})
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(concat(groups, " groups, seed ", seed));
      const Outcome outcome = history(context, name, seed, groups, 12);
      EXPECT_GT(outcome.version + (outcome.pushed == 0 ? 1 : 0), 0U) << "nothing is ever applied";
      EXPECT_EQ(outcome, history(context, name, seed, groups, 12)) << "the same history, decided otherwise";
      if (testing::Test::HasFailure()) return;
    }
}

} // namespace

void register_consistency_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::consistency, name, "obeys_its_traits", obeys_its_traits);
}

} // namespace dlhost::conform
