#include "tools/simulate/simulated_run.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <utility>

#include "config/dump.h"
#include "config/load.h"
#include "env/process/process.h"
#include "param/store/transfer.h"
#include "run/recovery/ledgers.h"
#include "run/recovery/succession.h"
#include "run/session/checkpoints.h"
#include "tools/audit/held.h"

namespace dlhost::tools {
namespace {

constexpr const char* machine_name = "world";

Value* rate_of(config::Job& job) {
  auto& options = job.train.device.options.entries;
  const auto rate = std::ranges::find(options, "rate", &TableEntry::first);
  return rate == options.end() ? nullptr : &rate->second;
}

// Lines for people become events of the world. Tables do not: they have figures of this process, such as its memory.
class EventTerminal final : public env::Terminal {
 public:
  explicit EventTerminal(env::simulated::World& world) : world_(world) {}
  bool interactive() override { return false; }
  int columns() override { return 80; }
  bool unicode() override { return false; }
  bool color() override { return false; }
  void write(std::string_view text) override {
    if (text.find('\n') == text.size() - 1) world_.tell(std::string(text.substr(0, text.size() - 1)));
  }

 private:
  env::simulated::World& world_;
};

Status read(param::Store& store, const std::vector<std::vector<param::TensorPlace>>& places,
            std::vector<std::map<std::string, std::vector<float>>>& all) {
  for (const auto& of_one : places) {
    auto& values = all.emplace_back();
    for (const auto& place : of_one) {
      DLHOST_ASSIGN(values[place.name], param::download(store.device(), store.stream(), place.desc, place.data));
    }
  }
  return {};
}

} // namespace

// A leader's process: the world around it, and what the simulation's user wants to know of the run.
class SimulatedRun::Environment final : public run::RunEnvironment, private run::Observer {
 public:
  Environment(SimulatedRun& run, std::optional<int> handed_over)
      : run_(run), terminal_(run.world_), handed_over_(handed_over) {}
  void interrupt() override { interrupted_ = true; }

  Host& host() override { return run_.host_; }
  plugin::Registry& registry() override { return run_.registry_; }
  env::Processes& processes() override { return run_.processes_; }
  env::Terminal& terminal() override { return terminal_; }
  std::string machine() override { return machine_name; }
  config::Job of_leader(config::Job job) override { return run_.jobs_of(job).front(); }
  run::WorkerPool::Maker pool(const config::Job& job) override {
    return [this, jobs = run_.jobs_of(job)](run::Session& leader) { return make_pool(leader, jobs); };
  }

  run::WorkerPool::Maker pool_among(const config::Job&, const run::GoingOn& going_on) override {
    return [this, going_on](run::Session& leader) {
      keep_standby();
      return SimulatedPool::adopt(run_.world_, leader, going_on, run_.crew_);
    };
  }

  const std::atomic<bool>& interrupted() override { return interrupted_; }
  Nanoseconds request_interval() override { return 0; } // a whole run may take less than the real one
  Result<config::Job> load(const std::string& job_file) override {
    return config::load(host().disk(), job_file, {}, run_.registry_);
  }

  Result<run::Leadership> inherit(const std::string& run) override {
    return run::Leadership::adopt(host().disk(), run_.processes_, run, *handed_over_);
  }
  Status begin_succession(const std::string& run) override {
    if (!taken_over_while_.empty()) return {};
    taken_over_while_ = run::may_be_taken_over(run);
    run_.get_standby();
    return {};
  }
  void end_succession() override {
    if (!taken_over_while_.empty()) host().disk().remove(taken_over_while_).ignore("this process was killed");
  }

  Status keep_log(const std::string&) override { return {}; } // the world's events are the log
  Status check_room(run::Session&, const std::string&) override { return {}; }
  Status await_room(const std::string&, double, const run::LastSave& last) override { return last.full; }
  Status write(const record::RunFolder& folder, const record::Summary& summary) override {
    DLHOST_TRY(record::write_summary(host().disk(), folder, summary));
    run_.is_over_ = summary.status != "running";
    return {};
  }
  void add_start(record::Summary&, run::Session&) override {}
  void add_end(record::Summary&, run::Session& session, const run::Outcome& outcome) override {
    read_ = outcome.error.ok() ? read_params(session) : Status(); // while the other workers have their memory
  }
  run::Observer* observer() override { return this; }
  Status end(run::Session&, run::Training&, const record::RunFolder&, const run::Outcome&, std::uint64_t) override {
    return read_;
  }

 private:
  Status read_params(run::Session& session) {
    Simulated& result = run_.result_;
    param::Store& store = session.store();
    for (const auto& param : store.params()) {
      DLHOST_ASSIGN(result.params[param->declared.name],
                    param::download(store.device(), store.stream(), param->master, param->value.data()));
    }
    result.own_values.clear();
    result.elsewhere.clear();
    if (!session.sharing()) return {};
    DLHOST_TRY(read(store, session.sharing()->own_values(), result.own_values));
    return read(store, session.sharing()->values_elsewhere(), result.elsewhere);
  }

  Result<std::unique_ptr<run::WorkerPool>> make_pool(run::Session& leader, const std::vector<config::Job>& jobs) {
    const auto crew = std::make_shared<Crew>(
        Crew{.jobs = jobs, .outlives = [run = &run_](const std::string& folder, int dead, run::Follower* last) {
               return run->take_over(folder, dead, last);
             }});
    if (run_.world_.lives()) run_.crew_ = crew;
    keep_standby();
    return SimulatedPool::make(run_.world_, leader, concat("/meeting-", ++run_.attempts_), crew);
  }

  void keep_standby() {
    if (run_.is_led_ && !run_.processes_.runs(run_.standby_)) run_.get_standby();
  }

  Measured& add(const run::Progress& progress, Phase phase) {
    return run_.result_.measured.emplace_back(Measured{progress.step, progress.epoch, progress.seconds, phase, {}});
  }
  Status on_step(const run::Progress& progress, program::Program& program) override {
    run::MetricValues& values = add(progress, Phase::train).metrics;
    for (const auto& metric : program.metrics()) {
      values.emplace_back(metric.name, metric.last_sum / metric.last_count);
      if (metric.is_loss) run_.result_.losses[progress.step] = values.back().second;
    }
    return {};
  }
  Status on_evaluation(const run::Progress& progress, Phase phase, const run::Evaluation& evaluation) override {
    add(progress, phase).metrics = evaluation.metrics;
    return {};
  }

  SimulatedRun& run_;
  EventTerminal terminal_;
  const std::optional<int> handed_over_;
  std::atomic<bool> interrupted_{false};
  Status read_;                  // of the params at the end
  std::string taken_over_while_; // while this file exists; empty: no process takes this one's place
};

struct SimulatedRun::Leader {
  Leader(SimulatedRun& run, std::optional<int> handed_over) : environment(run, handed_over) {}
  Environment environment;
  std::optional<run::Coordinator> coordinator; // set once the job is read
};

SimulatedRun::SimulatedRun(env::simulated::World& world, env::simulated::SimulatedHost& host,
                           plugin::Registry& registry, config::Job job, std::span<const double> paces,
                           Simulated& result)
    : world_(world), host_(host), processes_(world), registry_(registry), job_(std::move(job)), paces_(paces),
      result_(result), status_(Status::gone("no process leads the run any more")) {}

SimulatedRun::~SimulatedRun() = default;

Status SimulatedRun::check_paces() const {
  config::Job job = job_;
  const std::uint32_t seats = plan::Place::seats(job.topology);
  if (paces_.size() > seats) return Status::invalid("there are ", paces_.size(), " paces, but ", seats, " workers");
  if (!paces_.empty() && !rate_of(job))
    return Status::invalid("paces need a device that charges for its ops: --set train.device='{ type = \"ref\", rate = "
                           "10 }'");
  return {};
}

// By seat: they differ in the rate of the device. A smaller arrangement has no use for the last paces.
std::vector<config::Job> SimulatedRun::jobs_of(const config::Job& job) const {
  std::vector<config::Job> jobs(plan::Place::seats(job.topology), job);
  for (std::size_t seat = 0; seat < std::min(paces_.size(), jobs.size()); ++seat) {
    Value& rate = *rate_of(jobs[seat]);
    const auto* whole = std::get_if<std::int64_t>(&rate.data);
    rate.data = paces_[seat] * (whole ? static_cast<double>(*whole) : std::get<double>(rate.data));
  }
  return jobs;
}

void SimulatedRun::begin() { start(false, {}); }
void SimulatedRun::resume() { start(true, {}); }
void SimulatedRun::ask_to_end() { leaders_.back().environment.interrupt(); }

std::string SimulatedRun::folder() const {
  for (auto leader = leaders_.rbegin(); leader != leaders_.rend(); ++leader)
    if (leader->coordinator && !leader->coordinator->folder().empty()) return leader->coordinator->folder();
  return {};
}

void SimulatedRun::wish(const config::Topology& topology) {
  if (is_over_ || folder().empty()) return; // `dlhost scale` needs the run's folder
  world_.start("scale", [this, topology, folder = folder()] {
    config::Job job = job_;
    job.topology = topology;
    run::Scaling(host_.disk(), folder)
        .wish(config::to_toml(job, env::working_folder()))
        .ignore("another request is not answered yet");
  });
}

std::vector<int> SimulatedRun::mortals() const {
  std::vector<int> heirs, all;
  if (is_over_) return all;
  for (const int process : {leader_, standby_})
    if (process > 0 && world_.runs(process)) heirs.push_back(process);
  if (crew_)
    for (const int process : crew_->processes)
      if (world_.runs(process)) (crew_->may_take_over ? heirs : all).push_back(process);
  if (is_led_ && heirs.size() > 1) all.insert(all.end(), heirs.begin(), heirs.end());
  return all;
}

int SimulatedRun::start(bool resumes, std::optional<int> handed_over) {
  Leader& leader = leaders_.emplace_back(*this, handed_over);
  if (!handed_over) is_led_ = false;
  is_over_ = false;
  leader_ = world_.start("leader", [this, &leader, resumes, handed_over] {
    Status status = lead(leader, resumes, handed_over);
    if (!world_.lives()) return;
    status_ = std::move(status);
    result_.took = world_.now();
    if (!status_.ok() || result_.outcome.ending != run::Ending::interrupted) return;
    ++result_.ended;
    world_.tell("the run has ended as it was asked to, and is resumed");
    resume();
  });
  if (handed_over) processes_.pass_on(*handed_over, leader_);
  return leader_;
}

// A run without a checkpoint begins anew, as its user would let it. Its job is the one that its folder has.
Status SimulatedRun::lead(Leader& leader, bool resumes, std::optional<int> handed_over) {
  const std::string before = folder();
  const auto has_point = [&] {
    const auto folders = run::Checkpoints::folders_of(before);
    return std::ranges::any_of(folders, [&](const auto& one) { return run::Checkpoints::any(host_.disk(), one); });
  };
  const bool continues = handed_over || (resumes && !before.empty() && has_point());
  config::Job job = job_;
  if (continues) {
    DLHOST_ASSIGN(const std::string file, record::RunFolder::job_above(host_.disk(), before));
    DLHOST_ASSIGN(job, leader.environment.load(file));
  }
  run::Coordinator& coordinator = leader.coordinator.emplace(
      leader.environment,
      run::RunStart{.resume = continues ? before : std::string(), .inherits = handed_over.has_value()}, std::move(job));
  Status status = coordinator.run();
  if (!world_.lives()) return status;
  result_.outcome = coordinator.outcome();
  result_.recoveries = coordinator.past().times;
  result_.scaled = result_.replaced = 0;
  for (const Leader& one : leaders_)
    if (one.coordinator) {
      result_.scaled += one.coordinator->rearranged();
      result_.replaced += static_cast<std::uint32_t>(one.coordinator->replacements().size());
    }
  if (status.ok() && result_.outcome.ending != run::Ending::interrupted)
    DLHOST_TRY(read_ledgers(coordinator.job(), coordinator.folder()));
  return status;
}

// Starts a process that takes the leader's place if the leader is killed.
void SimulatedRun::get_standby() {
  is_led_ = true;
  standby_ = world_.start("standby", [this, leader = world_.process()] { stand_by(leader); });
}

void SimulatedRun::stand_by(int leader) {
  constexpr Nanoseconds a_while = 20'000'000;
  const std::string run = folder();
  while (world_.lives() && world_.runs(leader)) world_.pause(a_while, "stands by for the leader");
  run::let_workers_go_first(host_, processes_, run, leader);
  take_over(run, leader, nullptr).ignore("another process leads the run, or none can");
}

// Becomes the leader in the place of the killed one, unless another process does.
Status SimulatedRun::take_over(const std::string& run, int dead, run::Follower* last) {
  DLHOST_ASSIGN(const auto before, run::Leadership::told(host_.disk(), run));
  DLHOST_ASSIGN(auto leadership, run::succeed(host_, processes_, run, machine_name, dead, [] { return Status(); }));
  if (!leadership) return {};
  if (last && !before.going_on.any(processes_))
    last->salvage(run,
                  [&](std::uint32_t seat) {
                    if (seat > 0 && seat <= before.workers.size()) processes_.kill(before.workers[seat - 1].process);
                  })
        .ignore("the run goes on from the newest point, then");
  if (!world_.lives()) return {}; // this process was killed over that
  DLHOST_ASSIGN(const int lock, leadership->hand_over());
  start(false, lock);
  return {};
}

// Audits the ledgers of all arrangements. The result is the newest one's audit, with the faults of all.
Status SimulatedRun::read_ledgers(const config::Job& job, const std::string& folder) {
  DLHOST_ASSIGN(const auto kept, run::kept_ledgers(host_.disk(), folder, job));
  Claims claims = claims_of(host_.disk(), folder, "", "");
  if (!kept.empty())
    look_for_summary(host_.disk(), folder, record::RunFolder::job_in(host_.disk(), folder), kept.back(), claims);
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

} // namespace dlhost::tools
