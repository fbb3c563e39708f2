#include "cli/run/run_summary.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "env/process/interrupt.h"
#include "env/process/usage.h"
#include "record/quantity.h"
#include "run/session/checkpoints.h"
#include "version.h"

namespace dlhost::cli {
namespace {

// Quotes a word for the shell.
std::string shell_word(const std::string& word) {
  static constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+:@%,=";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

// The command line of this process up to the command: with the options that find plugins.
std::string called(const Context& context) {
  std::string words = "dlhost";
  for (const auto& folder : context.plugin_dirs) words += " --plugin-dir " + shell_word(folder);
  return words;
}

// The words by which commands name the newest checkpoint of a run.
struct Newest {
  std::string place, job; // quoted for the shell; job empty: the place has it
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

// The memory of all processes: those of other workers reported it when the run last stood still.
void count_memory(record::Summary& summary) {
  std::uint64_t others = 0;
  for (const auto& worker : summary.workers) {
    summary.shared_bytes += worker.lent_bytes;
    if (&worker != &summary.workers.front()) others += worker.own_bytes;
  }
  summary.peak_rss_bytes =
      others == 0 ? env::peak_resident_bytes() : env::peak_private_bytes() + others + summary.shared_bytes;
}

// Whether threads waited long for cores. A net's own threads wait for each other's cores part of the time even on an
// idle machine.
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
    remarks.push_back(fmt::format("its threads have waited {} for a core, all together: other work uses the cores, or "
                                  "train.threads exceeds their number",
                                  record::short_duration(waited)));
  return fmt::format("{}", fmt::join(remarks, "; "));
}

} // namespace

void add_versions(record::Summary& summary, run::Session& session) {
  summary.versions = {{"dlhost", version_text()}, {session.job().train.device.type, session.device().description()}};
  for (const auto& build : session.registry().builds())
    summary.versions.emplace_back(concat("plugin ", build.name), concat(build.version, "+", build.digest));
}

void add_end(record::Summary& summary, const Context& context, run::Session& session, const run::Outcome& outcome) {
  if (outcome.ending == run::Ending::interrupted && env::interrupted()) summary.reason = env::interrupted_by();
  summary.remark = remark_of(outcome);
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
