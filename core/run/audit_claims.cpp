#include "run/audit_claims.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "param/checkpoint.h"
#include "record/json_fault.h"
#include "run/checkpoints.h"
#include "run/manifest.h"
#include "run/whereabouts.h"

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
    const Json summary = Json::parse(text);
    if (!summary.contains("ledgers")) return claim;
    claim.step = summary.at("steps");
    auto heads = record::ledger_heads(summary.at("ledgers"));
    if (!heads.ok()) return Status::corrupt(path, ": ledgers ", heads.status().message());
    claim.heads = *std::move(heads);
    return claim;
  } catch (const Json::exception& error) {
    return Status::corrupt(path, " is damaged: ", record::json_fault(error));
  }
}

} // namespace

Claim::Place Claim::newest() const {
  Place newest;
  for (const auto& head : heads.all) newest = std::max(newest, {head.arrangement, head.attempt});
  return newest;
}

Claims claims_of(Disk& disk, const std::string& run, const std::string& elsewhere) {
  Claims claims;
  const auto add = [&](Result<Claim> claim) {
    if (!claim.ok())
      claims.faults.push_back(claim.status().message());
    else if (!claim->heads.all.empty())
      claims.all.push_back(*std::move(claim));
  };
  auto folders = Checkpoints::folders_of(run);
  if (!elsewhere.empty()) folders.push_back(elsewhere);
  for (const auto& folder : folders) {
    if (!disk.exists(folder)) continue;
    const auto entries = disk.list(folder);
    if (!entries.ok()) claims.faults.push_back(entries.status().message());
    if (!entries.ok()) continue;
    for (const auto& entry : *entries)
      if (entry.directory && disk.exists(concat(folder, "/", entry.name, "/manifest.json")))
        add(of_checkpoint(disk, concat(folder, "/", entry.name)));
  }
  std::ranges::stable_sort(claims.all, {}, [](const Claim& claim) { return std::pair(claim.newest(), claim.step); });
  if (const std::string path = run + "/summary.json"; disk.exists(path)) add(of_summary(disk, path));
  return claims;
}

} // namespace dlhost::run
