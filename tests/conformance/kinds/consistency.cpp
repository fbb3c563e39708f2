// Consistency handlers: random histories of workers that pull, compute and push. No worker waits for ever or reads a
// value staler than the traits allow, and no contribution is lost that must be kept.
#include <algorithm>
#include <set>
#include <type_traits>

#include <dlhost/consistency.h>
#include <dlhost/random.h>

#include "allocations.h"
#include "kinds/kinds.h"

namespace dlhost::conform {

namespace {

using Handlers = std::vector<std::unique_ptr<Consistency>>;

// Simulates core for one slice, or for the chooser of whole steps. The handlers take turns, as if each call came to
// another process: only the slice's words pass from one to the next.
class Server {
 public:
  Server(const Handlers& handlers, std::uint32_t groups)
      : handlers_(handlers), traits_(handlers.front()->traits()), own_(traits_.own_words + groups * traits_.words_each),
        in_(groups) {
    state_.groups = state_.contributors = state_.expected = groups;
    state_.own = own_;
    held_.reserve(groups + 1);
    SliceState begun = view();
    asked([&](Consistency& handler) { handler.on_put(begun); });
  }

  GetVerdict get(std::uint16_t group, Version at_least) {
    const SliceState now = view(group);
    return looked_at([&](Consistency& handler) { return handler.on_get(now, group, 0, at_least); });
  }
  void update(const Contribution& contribution) {
    SliceState now = view(contribution.who.group);
    act(asked([&](Consistency& handler) { return handler.on_update(now, contribution); }), &contribution);
  }
  void let_time_pass() {
    SliceState now = view();
    if (looked_at([&](Consistency& handler) { return handler.next_timer(now); }) > 0)
      act(asked([&](Consistency& handler) { return handler.on_timer(now); }), nullptr);
  }
  // The last one leaves without a word.
  void leave(std::uint16_t group) {
    left_.insert(group);
    SliceState now = view(group);
    if (now.contributors == 0) return;
    act(asked([&](Consistency& handler) { return handler.on_member(now); }), nullptr);
  }

  // A pause of all workers: folded contributions, and held steps, go into the current version.
  void pause() {
    if (!traits_.folds) return;
    const SliceState now = view();
    const float weight = looked_at([&](Consistency& handler) { return handler.weight_at_pause(now); });
    ASSERT_GT(weight, 0) << "what was folded would be lost at a pause";
    if (takes_held_at_pause()) {
      folded_.insert(folded_.end(), held_.begin(), held_.end());
      held_.clear();
    }
    bring_in_folded();
  }
  bool takes_held_at_pause() const { return traits_.folds && traits_.by_step; }

  Version version() const { return state_.version; }
  std::size_t held() const { return held_.size() + folded_.size(); }
  bool holds(std::uint16_t group) const { return std::ranges::find(held_, group, group_of) != held_.end(); }
  // The number of a worker's contributions in the value.
  std::uint64_t in(std::size_t worker) const { return in_[worker]; }
  std::uint64_t applied = 0, dropped = 0;

 private:
  static std::uint16_t group_of(const Contribution& one) { return one.who.group; }
  // Calls the next handler, which may not allocate.
  template <class Call> std::invoke_result_t<Call, Consistency&> asked(Call call) {
    class Count {
     public:
      ~Count() { EXPECT_EQ(allocations(), before_) << "allocates memory in a step"; }

     private:
      const std::uint64_t before_ = allocations();
    };
    Consistency& handler = *handlers_[turn_++ % handlers_.size()];
    const Count count;
    return call(handler);
  }
  // The same for a call that decides nothing about the words.
  template <class Call> std::invoke_result_t<Call, Consistency&> looked_at(Call call) {
    const std::vector<std::uint64_t> before = own_;
    const auto answer = asked(call);
    EXPECT_EQ(own_, before) << "changes its words in a call that may come any number of times";
    return answer;
  }
  // A group that has left counts to the chooser as long as one of its steps is held.
  SliceState view(std::uint32_t from = 0) {
    const auto is_gone = [this](std::uint16_t group) { return !traits_.by_step || !holds(group); };
    state_.contributors =
        static_cast<std::uint32_t>(in_.size()) - static_cast<std::uint32_t>(std::ranges::count_if(left_, is_gone));
    if (traits_.by_step) state_.groups = state_.contributors;
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
    if (verdict.act == Act::hold && contribution) {
      ASSERT_LT(held_.size(), in_.size()) << "holds more contributions than there are workers";
      held_.push_back(*contribution);
    }
    if (verdict.act == Act::drop) {
      ASSERT_NE(contribution, nullptr) << "there is nothing to drop";
      ++dropped;
    }
    if (verdict.act == Act::fold) {
      ASSERT_TRUE(traits_.folds) << "folds, though its traits do not say so";
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

  const Handlers& handlers_;
  const Consistency::Traits traits_;
  std::size_t turn_ = 0;
  std::vector<std::uint64_t> own_;
  std::vector<Contribution> held_, folded_;
  std::vector<std::uint64_t> in_;
  std::set<std::uint16_t> left_;
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

// One history: the seed orders the workers' turns; each makes `steps` steps. `objects`: handlers that take turns.
Outcome history(const Context& context, const std::string& name, std::uint32_t seed, std::uint32_t groups,
                std::uint64_t steps, std::size_t objects = 1) {
  Handlers handlers;
  for (std::size_t i = 0; i < objects; ++i) handlers.push_back(usable<Consistency>(context, name));
  const auto& handler = handlers.front();
  Server server(handlers, groups);
  std::vector<Worker> workers(groups);
  Random random({seed, 4}, 0, 0);
  Outcome outcome;
  std::uint64_t turns = 0;
  const auto busy = [&] { return std::ranges::any_of(workers, [&](const Worker& w) { return w.step < steps; }); };
  while (busy()) {
    if (++turns > 1000 * steps * groups) throw std::runtime_error("somebody waits for ever");
    const auto who = static_cast<std::uint16_t>(random.below(groups));
    if (random.below(50) == 0) {
      for (std::uint16_t other = 0; other < groups; ++other)
        if (server.takes_held_at_pause() && server.holds(other)) workers[other].released = true;
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
      if (worker.step == steps) server.leave(who);
      continue;
    }
    ++outcome.pushed;
    Contribution contribution{.based_on = worker.have, .elements = 4};
    contribution.kind = plan.send_delta ? ContributionKind::delta : ContributionKind::dense;
    contribution.who = {.group = who, .step = worker.step - 1, .samples = {worker.step * 8, 8}};
    server.update(contribution);
    if (worker.step == steps) server.leave(who); // leaves after its last step
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

// Every server has a handler of its own, and one handler decides about many slices.
void keeps_its_state_in_words(const Context& context, const std::string& name) {
  for (const std::uint32_t groups : {2U, 5U})
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(concat(groups, " groups, seed ", seed));
      EXPECT_EQ(history(context, name, seed, groups, 12), history(context, name, seed, groups, 12, 3))
          << "another decision where only the slice's words are known";
      if (testing::Test::HasFailure()) return;
    }
}

void plans_what_workers_can_follow(const Context& context, const std::string& name) {
  const auto handler = usable<Consistency>(context, name);
  const WorkerPlan first = handler->plan(0, 0);
  for (std::uint64_t step = 0; step < 1000; ++step) {
    SCOPED_TRACE(concat("step ", step));
    const WorkerPlan plan = handler->plan(step, step);
    ASSERT_EQ(plan.update_locally, first.update_locally) << "values of workers' own come and go";
    ASSERT_EQ(plan.send_delta, first.send_delta) << "now gradients, now differences";
    ASSERT_TRUE(plan.update_locally || (plan.push && !plan.send_delta)) << "nothing keeps what is not pushed";
    ASSERT_TRUE(plan.send_delta || plan.delta_factor == 1) << "a part of a gradient";
    const WorkerPlan again = handler->plan(step, step);
    ASSERT_TRUE(plan.pull == again.pull && plan.push == again.push && plan.at_least == again.at_least)
        << "another plan when it is asked again";
  }
  EXPECT_GE(handler->next_timer({}), 0) << "asked before the run, without words";
}

} // namespace

void register_consistency_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::consistency, name, "obeys_its_traits", obeys_its_traits);
  add_product_check(context, Kind::consistency, name, "keeps_its_state_in_words", keeps_its_state_in_words);
  add_product_check(context, Kind::consistency, name, "plans_what_workers_can_follow", plans_what_workers_can_follow);
}

} // namespace dlhost::conform
