#include "tools/audit/claims.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "param/file/checkpoint.h"
#include "plan/place.h"
#include "record/json_fault.h"
#include "run/recovery/resume_position.h"
#include "run/session/checkpoints.h"
#include "run/session/manifest.h"

namespace dlhost::tools {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t most_steps = 1'000'000'000'000'000;

Result<Claim> of_checkpoint(Disk& disk, const std::string& folder) {
  DLHOST_ASSIGN(const auto manifest, param::read_manifest(disk, folder));
  Claim claim{.by = folder + "/manifest.json"};
  const Json& run = manifest.at("run");
  DLHOST_TRY(run::check_manifest(run, claim.by));
  claim.step = run.at("step");
  DLHOST_ASSIGN(claim.heads, run::ledgers_of(run.at("training")));
  if (const auto seed = run.find("seed"); seed != run.end() && seed->is_number_integer())
    claim.seed = seed->get<std::int64_t>();
  for (const auto& source : run.at("training").value("data", Json::array())) {
    const Json& origin = source.at("origin");
    claim.origins.push_back({origin.at(0), origin.at(1), origin.at(2)});
  }
  return claim;
}

// The claim of a run's summary. If the run has not ended, it names no ledgers.
Result<Claim> of_summary(Disk& disk, const std::string& path) {
  DLHOST_ASSIGN(const auto text, disk.read_text(path));
  Claim claim{.by = path};
  try {
    const Json summary = env::parse_json(text);
    const Json& steps = summary.at("steps");
    if (!steps.is_number_unsigned() || steps.get<std::uint64_t>() > most_steps)
      return Status::corrupt(path, ": steps is ", env::json_text(steps), ", and must be a count of at most ",
                             most_steps);
    claim.of_end = summary.at("status") == "done";
    if (!summary.contains("ledgers") || summary.at("ledgers").is_null()) return claim;
    claim.of_end = true;
    claim.step = steps;
    auto heads = record::ledger_heads(summary.at("ledgers"));
    if (!heads.ok()) return Status::corrupt(path, ": ledgers ", heads.status().message());
    claim.heads = *std::move(heads);
    return claim;
  } catch (const Json::exception& error) {
    return Status::corrupt(path, " is damaged: ", record::json_fault(error));
  }
}

// The claims of all complete checkpoints in a folder.
std::vector<Result<Claim>> of_checkpoints(Disk& disk, const std::string& folder) {
  std::vector<Result<Claim>> all;
  if (!disk.exists(folder)) return all;
  const auto entries = disk.list(folder);
  if (!entries.ok()) {
    all.emplace_back(entries.status());
    return all;
  }
  for (const auto& entry : *entries)
    if (entry.directory && !entry.name.ends_with(param::unfinished) &&
        disk.exists(concat(folder, "/", entry.name, "/manifest.json")))
      all.push_back(of_checkpoint(disk, concat(folder, "/", entry.name)));
  return all;
}

// The run's steps are those of its leader, which is worker 0. An arrangement without servers has made steps that no
// ledger has.
void look_for_steps(const Claim& summary, const run::KeptLedger& newest, std::vector<std::string>& faults) {
  const auto& steps = summary.heads.steps;
  const bool of_newest = summary.newest().arrangement == newest.of.arrangement;
  if (steps.empty() || summary.step < steps.front() || (of_newest && summary.step != steps.front()))
    faults.push_back(fmt::format("{}: steps is {}, and its ledgers are of steps [{}] of the workers", summary.by,
                                 summary.step, fmt::join(steps, ", ")));
}

} // namespace

Claim::Place Claim::newest() const {
  Place newest;
  for (const auto& head : heads.all) newest = std::max(newest, {head.arrangement, head.attempt});
  return newest;
}

Claims claims_of(Disk& disk, const std::string& run, const std::string& elsewhere, const std::string& name) {
  Claims claims;
  const auto add = [&](Result<Claim> claim) {
    if (!claim.ok())
      claims.faults.push_back(claim.status().message());
    else if (!claim->heads.all.empty())
      claims.all.push_back(*std::move(claim));
  };
  for (const auto& folder : run::Checkpoints::folders_of(run))
    for (auto& claim : of_checkpoints(disk, folder)) add(std::move(claim));
  if (!elsewhere.empty())
    for (auto& claim : of_checkpoints(disk, elsewhere))
      if (claim.ok() && claim->heads.run == name) add(std::move(claim));
  std::ranges::stable_sort(claims.all, {}, [](const Claim& claim) { return std::pair(claim.newest(), claim.step); });
  if (const std::string path = run + "/summary.json"; disk.exists(path)) {
    auto claim = of_summary(disk, path);
    claims.unnamed = claim.ok() && claim->of_end && claim->heads.run.empty();
    add(std::move(claim));
  }
  return claims;
}

void look_for_summary(Disk& disk, const std::string& run, const std::string& job_file, const run::KeptLedger& newest,
                      Claims& claims) {
  const std::string path = run + "/summary.json";
  if (disk.exists(path)) {
    if (claims.unnamed && newest.job.record.ledger && plan::Place::contribute_to_servers(newest.job.topology))
      claims.faults.push_back(path + ": the run is done, and ledgers is null: it must name them");
    if (!claims.all.empty() && claims.all.back().by == path) look_for_steps(claims.all.back(), newest, claims.faults);
    return;
  }
  claims.lost = true;
  claims.newest = newest.of.arrangement;
  claims.faults.push_back(path + " is missing: a run writes it before its first step");
  const config::Job& job = newest.job;
  const config::Stop& stop = job.train.stop;
  const bool by_steps =
      stop.steps > 0 && stop.epochs == 0 && stop.seconds == 0 && stop.patience == 0 && std::isinf(stop.loss);
  if (!by_steps) return; // it may have ended before
  const auto steps = static_cast<std::uint64_t>(stop.steps);
  claims.of_job = Claim{.by = job_file, .step = steps, .of_job = true};
  claims.of_job->heads.run = newest.of.run;
  claims.of_job->heads.steps.assign(plan::Place::seats(job.topology), steps);
}

} // namespace dlhost::tools
