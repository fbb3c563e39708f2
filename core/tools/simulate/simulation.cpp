#include "tools/simulate/simulation.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dlhost/random.h>

#include "env/disk.h"
#include "env/simulated/host.h"
#include "param/store/transfer.h"
#include "run/coordinator/balance.h"
#include "run/coordinator/warm_up.h"
#include "run/recovery/attempts.h"
#include "run/recovery/ledgers.h"
#include "tools/audit/held.h"
#include "tools/simulate/simulated_pool.h"

namespace dlhost::tools {
namespace {

constexpr const char* run_folder = "/run";
constexpr const char* checkpoint_folder = "/run/checkpoints";
constexpr const char* point_folder = "/run/recovery";

// The job of each worker: they differ in the rate of the device.
Result<std::vector<config::Job>> jobs_of(const config::Job& job, std::span<const double> paces) {
  std::vector<config::Job> jobs(plan::Place::seats(job.topology), job);
  if (paces.size() > jobs.size())
    return Status::invalid("there are ", paces.size(), " paces, but ", jobs.size(), " workers");
  for (std::size_t seat = 0; seat < paces.size(); ++seat) {
    auto& options = jobs[seat].train.device.options.entries;
    const auto rate = std::ranges::find(options, "rate", &TableEntry::first);
    if (rate == options.end())
      return Status::invalid(
          "paces need a device that charges for its ops: --set train.device='{ type = \"ref\", rate = "
          "10 }'");
    const auto* whole = std::get_if<std::int64_t>(&rate->second.data);
    rate->second.data = paces[seat] * (whole ? static_cast<double>(*whole) : std::get<double>(rate->second.data));
  }
  return jobs;
}

// The run's leader: trains, starts again when a worker has died, and continues in another arrangement if one is asked
// for. The object outlives its simulated process, and all processes that this one started.
class SimulatedRun final : private run::Attempts, private run::Observer {
 public:
  using Lead = std::function<void()>; // called by a surviving process when the leader is gone
  // `jobs`: of the workers, the leader's first.
  SimulatedRun(env::simulated::World& world, Host& host, plugin::Registry& registry, std::vector<config::Job> jobs,
               Simulated& result, Lead next)
      : run::Attempts(host, run::Recovery(jobs[0])), world_(world), host_(host), registry_(registry),
        jobs_(std::move(jobs)), result_(result), next_(std::move(next)) {}
  enum class After : std::uint8_t { nothing, leader, machine, end };
  // A leader that continues the run of another one, with the job that is in the run's folder. After::leader: takes the
  // place of a leader that was killed. After::machine, After::end: resumes the run when the machine has started again,
  // or when the run has ended on request.
  SimulatedRun(const SimulatedRun& gone, After after)
      : run::Attempts(gone.host_, run::Recovery(gone.told_[0], after == After::leader ? gone.recovery_.past()
                                                                                      : run::Recovery::Past())),
        world_(gone.world_), host_(gone.host_), registry_(gone.registry_), jobs_(gone.told_), told_(gone.told_),
        wish_(after == After::leader ? gone.wish_ : std::nullopt), result_(gone.result_), next_(gone.next_),
        after_(after), attempts_(gone.attempts_), is_led_(after == After::leader) {}

  Status run() {
    Status status = after_ == After::nothing  ? go_on(attempt({}))
                    : after_ == After::leader ? inherit()
                                              : go_on(resume());
    result_.recoveries = recovery_.past().times;
    is_over_ = world_.lives();
    if (status.ok() && !has_ended()) DLHOST_TRY(read_ledgers());
    return status;
  }

  // Asks the run to save and end. No effect if it has no step left.
  void ask_to_end() { interrupted_ = true; }
  // True if it ended on request, and is to be resumed.
  bool has_ended() const { return result_.outcome.ending == run::Ending::interrupted; }

  void is_process(int number) { leader_ = number; }
  // Starts a process that takes the leader's place if the leader is killed.
  void get_standby() {
    standby_ = world_.start("standby", [this] { stand_by(); });
  }
  // The processes that may be killed. Those that can continue the run (the leader, the standby, and the workers once
  // the start is recorded) are among them only if the run survives its leader and there are at least two of them.
  std::vector<int> mortals() const {
    std::vector<int> heirs, all;
    for (const int process : {leader_, standby_})
      if (world_.runs(process)) heirs.push_back(process);
    for (const int process : *workers_)
      if (world_.runs(process)) (succession_->run.empty() ? all : heirs).push_back(process);
    if (is_led_ && heirs.size() > 1) all.insert(all.end(), heirs.begin(), heirs.end());
    return all;
  }
  void wish(const config::Topology& topology) { wish_ = topology; }

 private:
  // The work of the standby process. It lets workers take over first, because they may have newer versions than the
  // last recovery point.
  void stand_by() {
    while (world_.lives() && world_.runs(leader_)) world_.pause(a_while, "stands by for the leader");
    const auto lives = [this](int process) { return world_.runs(process); };
    const auto succession = succession_; // of the attempt whose leader is gone
    const Nanoseconds end = world_.now() + to_go_first;
    const auto workers_may = [&] { return world_.now() < end && std::ranges::any_of(*workers_, lives); };
    while (world_.lives() && !succession->over && (succession->is_held(world_) || workers_may()))
      world_.pause(a_while, "lets workers take the leader's place");
    if (!world_.lives() || is_over_ || !succession->take(world_)) return;
    succession->over = true;
    next_();
  }

  const config::Job& job() const { return jobs_[0]; }

  Status inherit() {
    const Status gone = Status::gone("the run's leader is gone, and another takes its place");
    DLHOST_ASSIGN(const auto point, newest_point());
    return recovery_.goes_on(gone, point ? run::Checkpoints::step_of(*point) : 0) ? go_on(again(gone)) : gone;
  }

  Status resume() {
    DLHOST_ASSIGN(auto point, newest_point());
    return attempt(std::move(point));
  }

  Status rearrange() override {
    if (!wish_) return resume(); // the warm-up is over, or the workers' shares have changed
    config::Job wished = job();
    wished.topology = *std::exchange(wish_, std::nullopt);
    DLHOST_ASSIGN(jobs_, jobs_of(wished, {}));
    recovery_ = run::Recovery(job(), recovery_.past());
    ++result_.scaled;
    world_.tell(
        fmt::format("goes on with {} groups of {}", job().topology.worker_groups, job().topology.workers_per_group));
    return resume();
  }

  // Divides the rows by the workers' measured speeds.
  void balance() {
    const config::Topology topology = run::balanced(job(), result_.outcome.workers).topology;
    for (config::Job& one : jobs_) one.topology = topology;
    world_.tell(fmt::format("goes on with {} rows", fmt::join(run::rows_of(job()), ", ")));
  }

  // Audits the ledgers of all arrangements. The result is the newest one's audit, with the faults of all.
  Status read_ledgers() {
    DLHOST_ASSIGN(const auto kept, run::kept_ledgers(host_.disk(), run_folder, job()));
    Claims claims = claims_of(host_.disk(), run_folder, "", "");
    if (!heads_.all.empty())
      claims.all.push_back({.by = "the run's end", .step = steps_, .of_end = true, .heads = heads_});
    std::vector<std::string> faults = claims.faults;
    std::ranges::move(lost_arrangements(kept, claims), std::back_inserter(faults));
    for (const run::KeptLedger& one : kept) {
      if (!plan::Place::contribute_to_servers(one.job.topology)) continue;
      DLHOST_ASSIGN(result_.audit, held_audit(host_.disk(), registry_, one, claims));
      faults.insert(faults.end(), result_.audit.faults.begin(), result_.audit.faults.end());
    }
    result_.audit.faults = std::move(faults);
    return {};
  }

  Status attempt(Point from) override {
    const std::uint64_t step = from ? run::Checkpoints::step_of(*from) : 0;
    std::vector<config::Job>& jobs = arranged_.emplace_back();
    for (const config::Job& one : jobs_) jobs.push_back(run::arranged_at(one, step));
    const bool known = attempts_++ > 0; // the start of the run is recorded in its folder
    const auto succession = std::make_shared<Succession>(Succession{.begin_anew = next_});
    if (world_.lives()) {
      told_ = jobs_;
      succession_->over = true; // processes of the attempt before may not take over any more
      succession_ = succession;
      if (!world_.runs(standby_)) get_standby();
    }
    DLHOST_ASSIGN(auto session, run::Session::open(host_, registry_, jobs[0]));
    run::Training training(*session, interrupted_);
    const auto workers = std::make_shared<std::vector<int>>();
    training.employ([&](run::Session& leader) {
      return SimulatedPool::make(world_, leader, jobs, concat(run_folder, "/meeting-", attempts_), succession, workers);
    });
    if (known && recovery_.on()) training.bequeath(run_folder);
    DLHOST_TRY(training.prepare());
    workers_ = workers;
    training.replace_by([&](const Status& why) { return recovery_.goes_on(why, training.progress().step); },
                        [&](const record::Replacement&) { ++result_.replaced; });
    if (from) {
      DLHOST_TRY(training.resume(*from));
    } else {
      DLHOST_TRY(training.start().status());
    }
    if (recovery_.on()) training.bequeath(run_folder);
    is_led_ = recovery_.on();
    run::Checkpoints checkpoints(*session, checkpoint_folder, static_cast<std::size_t>(job().checkpoint.keep));
    run::Checkpoints points(*session, point_folder, 1);
    if (job().checkpoint.keep > 0) training.keep_in(&checkpoints);
    run::Checkpoints tested(*session, concat(checkpoint_folder, "/testing"), 1);
    if (recovery_.on()) training.recover_from(&points, job().topology.replicas > 1);
    if (job().topology.testing_group) training.test_beside(&tested);
    DLHOST_ASSIGN(auto ledger, run::begin_ledger(host_, run_folder, jobs[0], ""));
    training.keep_ledger_in(std::move(ledger.folder), std::move(ledger.of));
    const bool warm = run::warms_up(job(), step);
    const auto is_to_balance = [&] { return run::is_to_balance(jobs[0], training.progress().step - step); };
    training.stand_still_for(
        [&] {
          return wish_.has_value() || (warm && !run::warms_up(job(), training.progress().step)) || is_to_balance();
        },
        &points);
    result_.outcome = training.run(*this);
    steps_ = training.progress().step;
    DLHOST_TRY(result_.outcome.error);
    heads_ = training.heads();
    stands_ = result_.outcome.ending == run::Ending::standing;
    if (stands_ && is_to_balance()) balance();
    if (stands_) return {};
    training.dismiss();
    param::Store& store = session->store();
    for (const auto& param : store.params()) {
      DLHOST_ASSIGN(result_.params[param->declared.name],
                    param::download(store.device(), store.stream(), param->master, param->value.data()));
    }
    result_.own_values.clear();
    result_.elsewhere.clear();
    if (!session->sharing()) return {};
    DLHOST_TRY(read(store, session->sharing()->own_values(), result_.own_values));
    return read(store, session->sharing()->values_elsewhere(), result_.elsewhere);
  }

  static Status read(param::Store& store, const std::vector<std::vector<param::TensorPlace>>& places,
                     std::vector<std::map<std::string, std::vector<float>>>& all) {
    for (const auto& of_one : places) {
      auto& values = all.emplace_back();
      for (const auto& place : of_one) {
        DLHOST_ASSIGN(values[place.name], param::download(store.device(), store.stream(), place.desc, place.data));
      }
    }
    return {};
  }

  bool may_go_on() const override { return !interrupted_; }
  bool is_to_end() const override { return interrupted_; }
  Status end_at(const Point& point, const Status& lost) override {
    world_.tell(
        fmt::format("ends at step {}, because {}", point ? run::Checkpoints::step_of(*point) : 0, lost.message()));
    result_.outcome.ending = run::Ending::interrupted;
    return {};
  }

  Result<Point> newest_point() override { return newest_in({checkpoint_folder, point_folder}); }

  Status on_step(const run::Progress& progress, program::Program& program) override {
    run::MetricValues& values = add(progress, Phase::train).metrics;
    for (const auto& metric : program.metrics()) {
      values.emplace_back(metric.name, metric.last_sum / metric.last_count);
      if (metric.is_loss) result_.losses[progress.step] = values.back().second;
    }
    return {};
  }
  Status on_evaluation(const run::Progress& progress, Phase phase, const run::Evaluation& evaluation) override {
    add(progress, phase).metrics = evaluation.metrics;
    return {};
  }
  Measured& add(const run::Progress& progress, Phase phase) {
    return result_.measured.emplace_back(Measured{progress.step, progress.epoch, progress.seconds, phase, {}});
  }

  env::simulated::World& world_;
  Host& host_;
  plugin::Registry& registry_;
  std::vector<config::Job> jobs_;
  std::vector<config::Job> told_; // the jobs that are recorded in the run's folder
  std::optional<config::Topology> wish_;
  Simulated& result_;
  const Lead next_;
  const After after_ = After::nothing;
  std::atomic<bool> interrupted_{false};
  int attempts_ = 0;
  record::LedgerHeads heads_; // at the end
  static constexpr Nanoseconds a_while = 20'000'000, to_go_first = 10'000'000'000;
  int leader_ = 0, standby_ = 0;                                                     // process ids
  bool is_led_ = false;                                                              // the run survives its leader
  bool is_over_ = false;                                                             // it has ended, and was not killed
  std::shared_ptr<std::vector<int>> workers_ = std::make_shared<std::vector<int>>(); // process ids, from the pool
  std::deque<std::vector<config::Job>> arranged_; // of each attempt: workers may outlive the attempt
  std::shared_ptr<Succession> succession_ = std::make_shared<Succession>();
};

// Kills one of the run's processes, drawn at random. Kills none if none may be killed, for example while all restart.
void kill_one(env::simulated::World& world, const SimulatedRun& run) {
  const std::vector<int> mortals = run.mortals();
  if (!mortals.empty()) world.kill(mortals[world.below(static_cast<std::uint32_t>(mortals.size()))]);
}

// Draws another arrangement for the job: another number of groups if each group is one worker, which some handlers
// require; else another number of workers per group. The number of servers is drawn too.
config::Topology drawn_arrangement(env::simulated::World& world, const config::Job& job) {
  const auto below = [&](std::int64_t n) { return std::int64_t{world.below(static_cast<std::uint32_t>(n))}; };
  config::Topology topology = job.topology;
  if (topology.workers_per_group == 1)
    topology.worker_groups = topology.server_groups + below(4);
  else if (job.train.reproducible) // its blocks of samples divide equally among a power of two of workers
    topology.workers_per_group = std::int64_t{1} << below(3);
  else
    topology.workers_per_group = 1 + below(std::min<std::int64_t>(job.train.batch, 4));
  topology.servers_per_group = 1 + below(topology.worker_groups / topology.server_groups * topology.workers_per_group);
  return topology;
}

// Draws links between two seats, and the times in which they are cut: at least as long as it takes to notice a cut.
List cuts(const config::Job& job, const SimulationSpec& spec) {
  Random random({spec.seed, 1}, 0, 0);
  const std::uint32_t seats = plan::Place::seats(job.topology);
  const auto within = static_cast<std::uint32_t>(std::max<Nanoseconds>(1, spec.within / 1000));
  List cuts;
  for (std::int64_t i = 0; i < spec.cuts && seats > 1; ++i) {
    const std::uint32_t one = random.below(seats), other = (one + 1 + random.below(seats - 1)) % seats;
    const double from = random.below(within) * 1e-6, lasts = 0.05 + random.below(100) * 1e-3;
    cuts.push_back({fmt::format("seat{} seat{} {:.6f} {:.6f}", one, other, from, from + lasts), {}});
  }
  return cuts;
}

void adapt(config::Job& job, const SimulationSpec& spec) {
  job.topology.run_as = config::RunAs::processes;
  job.topology.transport = spec.transport;
  job.topology.transport.options.entries.emplace_back("seed", Value{static_cast<std::int64_t>(spec.seed >> 1), {}});
  job.train.threads = 1; // a simulated world is one thread
  for (const auto& [name, one_in] :
       {std::pair("lost", spec.lost), std::pair("doubled", spec.doubled), std::pair("reordered", spec.reordered)})
    if (one_in > 0)
      job.topology.transport.options.entries.emplace_back(name, Value{1.0 / static_cast<double>(one_in), {}});
  if (spec.cuts > 0) job.topology.transport.options.entries.emplace_back("outage", Value{cuts(job, spec), {}});
  if (job.topology.machines > 1) job.topology.network = job.topology.transport;
}

} // namespace

std::string flags_of(const SimulationSpec& spec) {
  std::vector<std::string> faults;
  for (const auto& [name, count] : named_faults)
    if (spec.*count > 0) faults.push_back(fmt::format("{}={}", name, spec.*count));
  std::string flags = fmt::format("--seed {}", spec.seed);
  if (!faults.empty()) flags += fmt::format(" --faults {}", fmt::join(faults, ","));
  if (at_moments(spec) > 0) flags += fmt::format(" --within {}", static_cast<double>(spec.within) * 1e-9);
  if (!spec.paces.empty()) flags += fmt::format(" --speeds {}", fmt::join(spec.paces, ","));
  if (spec.disk_fault != env::simulated::DiskFault::none)
    flags += fmt::format(" --disk {}", std::ranges::find(named_disks, spec.disk_fault, &NamedDisk::fault)->name);
  return flags;
}

Status verdict(const Simulated& simulated) {
  return simulated.status.ok() ? verdict(simulated.audit.faults) : simulated.status;
}

Simulated simulate(config::Job job, std::span<const plugin::SearchEntry> plugins, const SimulationSpec& spec) {
  adapt(job, spec);
  Simulated result;
  const auto jobs = jobs_of(job, spec.paces);
  if (!jobs.ok()) return result.status = jobs.status(), result;
  env::PosixDisk disk;
  env::simulated::World world(spec.seed);
  env::simulated::SimulatedHost host(world, &disk);
  host.disk().put_in(spec.disk_fault);
  plugin::Registry registry(plugins, host);
  host.set_maker([&](Kind kind, const Part& part) { return registry.make(kind, part.type, part.options); });
  std::deque<SimulatedRun> leaders; // one after another
  Status status = Status::gone("no process leads the run any more");
  std::function<void(SimulatedRun&)> start;
  start = [&](SimulatedRun& leader) {
    const int process = world.start("leader", [&] {
      status = leader.run();
      result.took = world.now();
      if (!world.lives() || !status.ok() || !leader.has_ended()) return;
      ++result.ended;
      world.tell("the run has ended as it was asked to, and is resumed");
      start(leaders.emplace_back(leader, SimulatedRun::After::end));
    });
    leader.is_process(process);
    leader.get_standby();
  };
  const SimulatedRun::Lead take_over = [&] {
    start(leaders.emplace_back(leaders.back(), SimulatedRun::After::leader));
  };
  const auto stop_machine = [&] {
    if (!world.kill_all()) return; // the run is over
    host.disk().crash(0);
    world.tell("the machine has stopped and starts again");
    start(leaders.emplace_back(leaders.back(), SimulatedRun::After::machine));
  };
  const auto at_a_moment = [&](auto what) {
    const auto microseconds = static_cast<std::uint32_t>(std::max<Nanoseconds>(1, spec.within / 1000));
    world.at(Nanoseconds{world.below(microseconds)} * 1000, what);
  };
  std::int64_t kills_left = spec.kills;
  const auto kill = [&] {
    kill_one(world, leaders.back());
    if (--kills_left == 0 && spec.again_after > 0)
      world.after_turns(static_cast<std::uint64_t>(spec.again_after), [&] { kill_one(world, leaders.back()); });
  };
  for (std::int64_t i = 0; i < spec.kills; ++i) at_a_moment(kill);
  for (std::int64_t i = 0; i < spec.scales; ++i)
    at_a_moment([&] { leaders.back().wish(drawn_arrangement(world, job)); });
  for (std::int64_t i = 0; i < spec.stops; ++i) at_a_moment(stop_machine);
  for (std::int64_t i = 0; i < spec.ends; ++i) at_a_moment([&] { leaders.back().ask_to_end(); });
  start(leaders.emplace_back(world, host, registry, *jobs, result, take_over));
  Status ended = world.run(spec.longest);
  result.status = ended.ok() ? std::move(status) : std::move(ended);
  result.history = world.history();
  result.told = world.told();
  return result;
}

} // namespace dlhost::tools
