#include "cli/run/job_run.h"

#include <optional>
#include <utility>

#include "cli/job_file.h"
#include "cli/run/disk_room.h"
#include "cli/run/full_disk.h"
#include "cli/run/run_profile.h"
#include "cli/run/run_summary.h"
#include "cli/run/succession.h"
#include "env/process/interrupt.h"
#include "env/process/launched.h"
#include "env/process/process.h"
#include "env/process/successors.h"
#include "run/coordinator/process_pool.h"
#include "run/membership/cluster_pool.h"
#include "run/recovery/standby.h"
#include "run/recovery/succession.h"

namespace dlhost::cli {
namespace {

class RealEnvironment final : public run::RunEnvironment {
 public:
  RealEnvironment(Context& context, const LeaderStart& start, run::Members* members)
      : context_(context), start_(start), members_(members) {}

  Host& host() override { return context_.host; }
  plugin::Registry& registry() override { return context_.registry(); }
  env::Processes& processes() override { return processes_; }
  env::Terminal& terminal() override { return terminal_; }
  std::string machine() override { return env::host_name(); }
  run::Members* members() override { return members_; }
  run::WorkerPool::Maker pool(const config::Job&) override {
    return members_ ? run::ClusterPool::maker(*members_) : run::WorkerPool::make;
  }

  run::WorkerPool::Maker pool_among(const config::Job&, const run::GoingOn& going_on) override {
    return [going_on](run::Session& leader) { return run::ProcessPool::adopt(leader, going_on); };
  }

  const std::atomic<bool>& interrupted() override { return env::interrupted(); }
  void interrupt() override { env::ask_to_end(env::own_process()); }
  Result<config::Job> load(const std::string& job_file) override { return load_job(context_, job_file, {}); }

  // A leader that lives, but was lost, needs time to notice that.
  Result<run::Leadership> inherit(const std::string& run) override {
    constexpr Nanoseconds to_notice = 60'000'000'000;
    if (start_.take_over >= 0) return run::Leadership::adopt(host().disk(), processes_, run, start_.take_over);
    return run::Leadership::await(host(), processes_, run, members_->host(), members_->name(), to_notice);
  }
  Status begin_succession(const std::string& run) override {
    if (standby_) return {};
    env::leave_to_heirs(run::may_be_taken_over(run));
    const auto plugins = plugin_arguments(context_);
    auto line = start_.standby >= 0 ? env::Lifeline::adopt(start_.standby) : run::Standby::start(plugins, run);
    DLHOST_TRY(line.status());
    standby_.emplace(host(), plugins, run, *std::move(line));
    return {};
  }
  void end_succession() override {
    env::disinherit();
    env::leave_to_heirs("");
    standby_.reset();
  }

  Status keep_log(const std::string& file) override { return context_.host.user_log().keep_in(host().disk(), file); }
  Status check_room(run::Session& session, const std::string& folder) override {
    return check_disk_room(session, folder);
  }
  Status await_room(const std::string& run, double seconds, const run::LastSave& last) override {
    return wait_for_room(host(), run, seconds, last);
  }
  Status write(const record::RunFolder& folder, const record::Summary& summary) override {
    return record::keep_summary(host().disk(), folder, summary);
  }
  void add_start(record::Summary& summary, run::Session& session) override { add_versions(summary, session); }
  void add_end(record::Summary& summary, run::Session& session, const run::Outcome& outcome) override {
    cli::add_end(summary, context_, session, outcome);
  }
  Status end(run::Session& session, run::Training& training, const record::RunFolder& folder,
             const run::Outcome& outcome, std::uint64_t steps) override {
    return start_.run.measures ? write_profile(context_, session, training, folder, outcome, steps) : Status();
  }

 private:
  Context& context_;
  const LeaderStart& start_;
  run::Members* const members_;
  env::RealProcesses processes_;
  env::StandardTerminal terminal_{1};
  std::optional<run::Standby> standby_;
};

} // namespace

Status run_to_its_end(Context& context, const LeaderStart& start, config::Job job, run::Members* members) {
  RealEnvironment environment(context, start, members);
  run::Coordinator run(environment, start.run, std::move(job));
  Status status = run.run();
  if (status.ok() && run.outcome().ending == run::Ending::diverged) context.exit_code = exit_diverged;
  if (status.ok() && run.outcome().ending == run::Ending::interrupted) context.exit_code = exit_interrupted;
  return status;
}

} // namespace dlhost::cli
