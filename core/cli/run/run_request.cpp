#include "cli/run/run_request.h"

namespace dlhost::cli {

void add_asked_options(CLI::App& command, RunRequest& asked, const std::string& where) {
  command
      .add_option("job", asked.job,
                  concat("the job file", where, "; with --resume it may be left out: then it is the run's own"))
      ->type_name("JOB.toml");
  command.add_option("--set", asked.set, "change one key of the job; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--resume", asked.resume,
                  concat("go on from a run's folder, or from one checkpoint", where, ", as if it had never stopped"))
      ->type_name("FOLDER");
  command.add_flag(
      "--continue", asked.goes_on,
      "go on with the newest run of this job if that has not come to its end, else begin a new one: for scripts "
      "that start a job again and again");
  command.add_flag("--accept-data", asked.accepts_data,
                   "with --resume: also where the training samples are not those that the run had so far");
  command.add_flag("--verify", asked.verifies_data,
                   "read all training samples once: checkpoints know them all then, and a run that is resumed with "
                   "--verify is held to each");
  command.add_flag("--profile", asked.profile, "print where the time of a step goes, and write a trace");
}

void tell_that_nothing_is_asked() { throw CLI::RequiredError("JOB.toml (or --resume FOLDER, to go on with a run)"); }

} // namespace dlhost::cli
