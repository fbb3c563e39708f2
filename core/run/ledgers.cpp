#include "run/ledgers.h"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "run/place.h"

namespace dlhost::run {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string newest_in(const std::string& run) { return run + "/ledger"; }
std::string earlier_in(const std::string& run, std::size_t number) { return concat(newest_in(run), "-", number); }
std::string begun_in(const std::string& ledger, std::size_t number) { return concat(ledger, "/begun-", number); }
std::string arrangement_in(const std::string& ledger) { return ledger + "/arrangement.json"; }

// What the numbers in a ledger rest on, by the names that it has in a job.
template <class Job> auto numbers_of(Job& job) {
  auto& topology = job.topology;
  return std::array{std::pair("train.batch", &job.train.batch),
                    std::pair("topology.worker_groups", &topology.worker_groups),
                    std::pair("topology.workers_per_group", &topology.workers_per_group),
                    std::pair("topology.server_groups", &topology.server_groups),
                    std::pair("topology.servers_per_group", &topology.servers_per_group),
                    std::pair("topology.slice_elements", &topology.slice_elements)};
}

OrderedJson arrangement_of(const config::Job& job) {
  OrderedJson arrangement = OrderedJson::object();
  for (const auto& [name, number] : numbers_of(job)) arrangement[name] = *number;
  arrangement["topology.consistency"] = job.topology.consistency.type;
  if (!job.topology.shares.empty()) arrangement["topology.shares"] = job.topology.shares;
  if (Place::sums_on_devices(job.topology)) arrangement["topology.copy"] = "none";
  return arrangement;
}

Result<config::Job> arranged(Disk& disk, const std::string& ledger, config::Job job) {
  const std::string path = arrangement_in(ledger);
  DLHOST_ASSIGN(const auto text, disk.read_text(path));
  try {
    const OrderedJson arrangement = OrderedJson::parse(text);
    for (const auto& [name, number] : numbers_of(job)) *number = arrangement.at(name);
    job.topology.consistency.type = arrangement.at("topology.consistency");
    job.topology.shares = arrangement.value("topology.shares", std::vector<std::int64_t>());
    job.topology.copy = arrangement.contains("topology.copy") ? config::Crossing::none : config::Crossing::automatic;
  } catch (const OrderedJson::exception& error) {
    return Status::corrupt(path, " is damaged: ", error.what());
  }
  return job;
}

} // namespace

Result<std::string> begin_ledger(Disk& disk, const std::string& run, const config::Job& job) {
  const std::string ledger = newest_in(run), arrangement = arrangement_of(job).dump(2) + "\n";
  const auto known = disk.read_text(arrangement_in(ledger));
  if (known.ok() && *known != arrangement) {
    std::size_t number = 1;
    while (disk.exists(earlier_in(run, number))) ++number;
    DLHOST_TRY(disk.rename(ledger, earlier_in(run, number)));
  }
  if (!known.ok() || *known != arrangement) {
    DLHOST_TRY(disk.make_directory(ledger));
    DLHOST_TRY(disk.write_text(arrangement_in(ledger), arrangement));
  }
  std::string begun = begun_in(ledger, begun_in(disk, ledger).size() + 1);
  DLHOST_TRY(disk.make_directory(begun));
  return begun;
}

std::vector<std::string> begun_in(Disk& disk, const std::string& ledger) {
  std::vector<std::string> folders;
  while (disk.exists(begun_in(ledger, folders.size() + 1))) folders.push_back(begun_in(ledger, folders.size() + 1));
  return folders;
}

Result<std::vector<KeptLedger>> kept_ledgers(Disk& disk, const std::string& run, const config::Job& job) {
  std::vector<KeptLedger> kept;
  const auto add = [&](const std::string& folder) -> Status {
    if (!disk.exists(arrangement_in(folder))) return {};
    DLHOST_ASSIGN(auto then, arranged(disk, folder, job));
    kept.push_back({folder, std::move(then)});
    return {};
  };
  for (std::size_t number = 1; disk.exists(earlier_in(run, number)); ++number) DLHOST_TRY(add(earlier_in(run, number)));
  DLHOST_TRY(add(newest_in(run)));
  return kept;
}

} // namespace dlhost::run
