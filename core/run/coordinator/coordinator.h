// Leads a run from its job to its end: one attempt, or several in one folder if processes die, if people want another
// arrangement of workers, or if the workers' shares change. It makes the run's folder, takes the lead, trains, and
// writes all records. Real runs and simulated ones differ in the environment alone.
//
// Thread: one. Owns: none of the constructor's references, which outlive it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/job.h"
#include "record/run_folder.h"
#include "record/summary.h"
#include "run/coordinator/run_environment.h"
#include "run/coordinator/scaling.h"
#include "run/recovery/attempts.h"

namespace dlhost::run {

struct RunStart {
  std::string resume = {};    // a run's folder or a checkpoint; empty: starts at step 0
  bool inherits = false;      // takes the place of that run's lost leader
  bool accepts_data = false;  // the resumed run may have other data
  bool verifies_data = false; // reads all samples first, not a few
  bool measures = false;      // the time of each op
};

class Coordinator final : private Attempts {
 public:
  Coordinator(RunEnvironment& environment, RunStart start, config::Job job)
      : Attempts(environment.host(), Recovery(job)), environment_(environment), disk_(environment.host().disk()),
        start_(std::move(start)), job_(std::move(job)), members_(environment.members()) {}

  // Returns when the run is over.
  Status run();

  // After run().
  const Outcome& outcome() const { return outcome_; }
  // At any time. The folder is empty until the run has one.
  std::string folder() const { return folder_ ? folder_->path() : std::string(); }
  const config::Job& job() const { return job_; }
  const Recovery::Past& past() const { return recovery_.past(); }
  const std::vector<record::Replacement>& replacements() const { return replacements_; }
  std::uint32_t rearranged() const { return rearrangements_; }

 private:
  Host& host() { return environment_.host(); }
  Status begin();
  std::string machine() const { return members_ ? members_->host() : environment_.machine(); }
  std::string membership() const { return members_ ? members_->name() : std::string(); }
  Leader this_leader() const;
  Status inherit();
  Status attempt(Point from) override;
  Status attempt(Session&, Training&, const Point& from);
  bool is_among_others() const { return !going_on_.meeting.empty(); }
  std::string how_it_goes_on(const Point&) const override;
  bool may_rejoin(const Training&) const;
  void give_up_others();
  Status tell_beginning();
  Status make_program(Training&, const Session&, const Point& from);
  Status begin_records(Session&, Training&);
  Status rearrange() override;
  Status continue_rearranged();
  Status refuse(const Status& why);
  bool is_asked();
  Status answer();
  std::string arrangement(std::uint64_t step) const;
  Result<Point> newest_point() override;
  bool may_go_on() const override { return !is_to_end() && !(members_ && members_->is_out()); }
  bool is_to_end() const override { return environment_.interrupted(); }
  Status end_at(const Point&, const Status& lost) override;
  Status open_folder();
  Status make_folder();
  Status tell_samples(const Session&);
  Status tell_changes();
  std::string parent_of_runs() const { return job_.record.folder.empty() ? "runs" : job_.record.folder; }
  std::string parent_of_checkpoints() const {
    return job_.checkpoint.folder.empty() ? parent_of_runs() : job_.checkpoint.folder;
  }
  std::string checkpoint_folder() const {
    return job_.checkpoint.folder.empty() ? folder_->file("checkpoints") : job_.checkpoint.folder;
  }
  std::string absolute_folder() const;
  Status keep_log() { return environment_.keep_log(folder_->file("log.txt")); }
  std::string job_text() const;
  Status keep_job() { return folder_->write_job(job_text()); }
  Status lead();
  Status begin_succession();
  Status tell_workers(Training&);
  void bequeath(Training&);
  Status train(Session&, Training&, bool resumed);
  Status kill(Training&, std::uint32_t worker);
  Status write_end(Session&, Training&, std::uint64_t first_step);
  Status unless_full(Status written);
  void tell_last_record();
  void tell_failure(const Status&);
  Status write_summary() { return environment_.write(*folder_, summary_); }
  void show_summary() {
    environment_.terminal().write(record::summary_table(summary_, environment_.terminal().unicode()));
  }

  RunEnvironment& environment_;
  Disk& disk_;
  const RunStart start_;
  config::Job job_;
  Members* const members_; // null: this process starts all workers
  std::optional<record::RunFolder> folder_;
  std::optional<Leadership> leadership_; // of the run in folder_
  record::Summary summary_;
  Outcome outcome_;  // of the last attempt
  GoingOn going_on_; // server groups among which the next attempt, or the present one, begins the first group anew
  int rejoins_in_vain_ = 0; // attempts in a row in which it did not begin among them
  std::vector<record::Replacement> replacements_;
  std::uint32_t rearrangements_ = 0;      // requests that were met
  bool saw_room_ = false;                 // whether the disk's room was checked: once, and never for a recovered run
  bool began_ = false;                    // its first step was about to be made
  bool asked_ = false;                    // job_ is a requested one and has not started yet
  bool rearranged_ = false;               // the next attempt has another arrangement of workers
  std::optional<config::Job> unbalanced_; // the job before its batch shares were balanced
  std::optional<Scaling> scaling_;        // requests for the run in folder_
  Nanoseconds look_again_ = 0;            // the next time to look for a request
  bool began_elsewhere_ = false;          // started from a checkpoint of another run
  bool resumes_ = false;                  // the next attempt resumes at the user's request
  bool ended_before_ = false;             // the summary has the status of an earlier end of this run
};

} // namespace dlhost::run
