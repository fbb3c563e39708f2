#include "run/audit_claims.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "param/file/checkpoint.h"
#include "record/json_fault.h"
#include "run/recovery/resume_position.h"
#include "run/session/checkpoints.h"
#include "run/session/manifest.h"

namespace dlhost::run {
namespace {

using Json = nlohmann::json;

Result<Claim> of_checkpoint(Disk& disk, const std::string& folder) {
  DLHOST_ASSIGN(const auto manifest, param::read_manifest(disk, folder));
  Claim claim{.by = folder + "/manifest.json"};
  const Json& run = manifest.at("run");
  DLHOST_TRY(check_manifest(run, claim.by));
  claim.step = run.at("step");
  DLHOST_ASSIGN(claim.heads, ledgers_of(run.at("training")));
  if (const auto seed = run.find("seed"); seed != run.end() && seed->is_number_integer())
    claim.seed = seed->get<std::int64_t>();
  for (const auto& source : run.at("training").value("data", Json::array())) {
    const Json& origin = source.at("origin");
    claim.origins.push_back({origin.at(0), origin.at(1), origin.at(2)});
  }
  return claim;
}

// Of a run that has come to an end; else it says nothing of ledgers.
Result<Claim> of_summary(Disk& disk, const std::string& path) {
  DLHOST_ASSIGN(const auto text, disk.read_text(path));
  Claim claim{.by = path, .of_end = true};
  try {
    const Json summary = env::parse_json(text);
    if (!summary.contains("ledgers") || summary.at("ledgers").is_null()) return claim;
    claim.step = summary.at("steps");
    auto heads = record::ledger_heads(summary.at("ledgers"));
    if (!heads.ok()) return Status::corrupt(path, ": ledgers ", heads.status().message());
    claim.heads = *std::move(heads);
    return claim;
  } catch (const Json::exception& error) {
    return Status::corrupt(path, " is damaged: ", record::json_fault(error));
  }
}

// Of all checkpoints that lie in a folder; what is none yet is left out.
std::vector<Result<Claim>> of_checkpoints(Disk& disk, const std::string& folder) {
  std::vector<Result<Claim>> all;
  if (!disk.exists(folder)) return all;
  const auto entries = disk.list(folder);
  if (!entries.ok()) {
    all.emplace_back(entries.status());
    return all;
  }
  for (const auto& entry : *entries)
    if (entry.directory && disk.exists(concat(folder, "/", entry.name, "/manifest.json")))
      all.push_back(of_checkpoint(disk, concat(folder, "/", entry.name)));
  return all;
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
  for (const auto& folder : Checkpoints::folders_of(run))
    for (auto& claim : of_checkpoints(disk, folder)) add(std::move(claim));
  if (!elsewhere.empty())
    for (auto& claim : of_checkpoints(disk, elsewhere))
      if (claim.ok() && claim->heads.run == name) add(std::move(claim));
  std::ranges::stable_sort(claims.all, {}, [](const Claim& claim) { return std::pair(claim.newest(), claim.step); });
  if (const std::string path = run + "/summary.json"; disk.exists(path)) add(of_summary(disk, path));
  return claims;
}

} // namespace dlhost::run
