#include "cli/run/run_summary.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/dump.h"
#include "env/process/interrupt.h"
#include "env/process/usage.h"
#include "record/quantity.h"
#include "run/session/checkpoints.h"
#include "version.h"

namespace dlhost::cli {
namespace {

const char* status_of(run::Ending ending) {
  switch (ending) {
  case run::Ending::finished: return "done";
  case run::Ending::interrupted: return "interrupted";
  case run::Ending::standing: return "running";
  case run::Ending::diverged:
  case run::Ending::failed: return "failed";
  }
  return "";
}

// A word as a shell takes it.
std::string shell_word(const std::string& word) {
  static constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+:@%,=";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

// How this process was called, before the command: what finds the plugins.
std::string called(const Context& context) {
  std::string words = "dlhost";
  for (const auto& folder : context.plugin_dirs) words += " --plugin-dir " + shell_word(folder);
  return words;
}

// How commands name the newest checkpoint of a run.
struct Newest {
  std::string place, job; // as a shell takes them; the job is empty where the place has it
};
std::optional<Newest> newest(run::Session& session, const std::string& folder) {
  const std::string& elsewhere = session.job().checkpoint.folder;
  Disk& disk = session.host().disk();
  if (!elsewhere.empty()) {
    if (!run::Checkpoints::any(disk, elsewhere)) return {};
    return Newest{shell_word(elsewhere), shell_word(record::RunFolder::job_in(disk, folder))};
  }
  const auto folders = run::Checkpoints::folders_of(folder);
  if (std::ranges::none_of(folders, [&](const auto& kept) { return run::Checkpoints::any(disk, kept); })) return {};
  return Newest{shell_word(folder), ""};
}

// Of a run of several processes those of the others were told when they last stood still.
void count_memory(record::Summary& summary) {
  std::uint64_t others = 0;
  for (const auto& worker : summary.workers) {
    summary.shared_bytes += worker.lent_bytes;
    if (&worker != &summary.workers.front()) others += worker.own_bytes;
  }
  summary.peak_rss_bytes =
      others == 0 ? env::peak_resident_bytes() : env::peak_private_bytes() + others + summary.shared_bytes;
}

// A net's own threads wait for one another's cores for a part of the time, also where nothing else runs.
bool lacked_cores(double waited, double trained) {
  constexpr double least = 2, share = 0.5;
  return waited > least && waited > share * trained;
}

std::string remark_of(const run::Outcome& outcome) {
  std::vector<std::string> remarks;
  if (outcome.rise)
    remarks.push_back(fmt::format("the loss has risen, from {:.4g} to {:.4g}: a smaller rate or warm-up often help",
                                  outcome.rise->from, outcome.rise->to));
  if (const double waited = env::seconds_without_a_core(); lacked_cores(waited, outcome.progress.seconds))
    remarks.push_back(fmt::format("its threads have waited {} for a core, all together: other work takes them, or "
                                  "train.threads is more than there are cores",
                                  record::short_duration(waited)));
  return fmt::format("{}", fmt::join(remarks, "; "));
}

} // namespace

record::Summary summary_of_start(run::Session& session, const record::RunFolder& folder) {
  const config::Job& job = session.job();
  record::Summary summary;
  summary.status = "running";
  summary.job_hash = config::job_hash(job);
  if (const auto program = session.trainer(); program.ok()) summary.plan_hash = plan::hash((*program)->plan());
  summary.versions = {{"dlhost", version_text()}, {job.train.device.type, session.device().description()}};
  for (const auto& build : session.registry().builds())
    summary.versions.emplace_back(concat("plugin ", build.name), concat(build.version, "+", build.digest));
  summary.job_name = job.name;
  summary.folder = folder.path();
  return summary;
}

void add_end(record::Summary& summary, const Context& context, run::Session& session, const run::Outcome& outcome) {
  summary.status = status_of(outcome.ending);
  summary.reason = outcome.reason;
  if (outcome.ending == run::Ending::interrupted && env::interrupted()) summary.reason = env::interrupted_by();
  summary.steps = outcome.progress.step;
  summary.epochs = outcome.progress.epoch;
  summary.seconds = outcome.progress.seconds;
  summary.validation = outcome.validation.metrics;
  summary.test = outcome.test.metrics;
  summary.validation_tables = outcome.validation.tables;
  summary.test_tables = outcome.test.tables;
  summary.remark = remark_of(outcome);
  if (outcome.best) summary.best = record::Summary::Best{outcome.best->metric, outcome.best->value, outcome.best->step};
  if (outcome.progress.seconds > 0)
    summary.items_per_second = static_cast<double>(outcome.progress.items) / outcome.progress.seconds;
  summary.step_median = outcome.step_median;
  summary.step_least = outcome.step_least;
  summary.input_wait_seconds = outcome.load_seconds;
  summary.workers = outcome.workers;
  summary.contributions = outcome.arrivals.came;
  summary.late_contributions = outcome.arrivals.late;
  summary.encoded = outcome.encoded;
  summary.factored = outcome.factored;
  if (const auto& scale = outcome.loss_scale)
    summary.loss_scale = record::Summary::LossScale{.value = scale->value, .skipped_steps = scale->skipped};
  summary.unsaved_checkpoints = outcome.unsaved;
  summary.started_rss_bytes = outcome.started_bytes;
  count_memory(summary);
  const auto checkpoint = newest(session, summary.folder);
  if (checkpoint && outcome.ending != run::Ending::finished)
    summary.next.emplace_back(concat(called(context), " run ", checkpoint->job, checkpoint->job.empty() ? "" : " ",
                                     "--resume ", checkpoint->place),
                              "goes on from the newest checkpoint");
  summary.next.emplace_back("dlhost plot " + shell_word(summary.folder), "draws the curves");
  for (const auto& [phase, word] : {std::pair{Phase::test, "test"}, {Phase::validate, "validation"}})
    if (checkpoint && session.samples(phase) > 0) {
      summary.next.emplace_back(concat(called(context), " eval ", checkpoint->place,
                                       checkpoint->job.empty() ? "" : " --job ", checkpoint->job, " --phase ", word),
                                "measures it again");
      break;
    }
}

} // namespace dlhost::cli
