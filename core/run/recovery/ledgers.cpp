#include "run/recovery/ledgers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/digest.h"
#include "env/json_text.h"
#include "plan/place.h"
#include "record/json_fault.h"

namespace dlhost::run {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::uint64_t of_none = 0;
constexpr std::int64_t most_of_a_number = 1'000'000'000'000;
constexpr std::string_view ledger_name = "ledger", earlier_name = "ledger-", attempt_name = "begun-";

std::string newest_in(const std::string& run) { return concat(run, "/", ledger_name); }
std::string earlier_in(const std::string& run, std::uint64_t number) { return concat(run, "/", earlier_name, number); }

// The numbers of the folders called `name` and a number from 1 on, sorted.
Result<std::vector<std::uint64_t>> numbered_in(Disk& disk, const std::string& folder, std::string_view name) {
  std::vector<std::uint64_t> numbers;
  if (!disk.exists(folder)) return numbers;
  DLHOST_ASSIGN(const auto entries, disk.list(folder));
  for (const auto& entry : entries) {
    if (!entry.directory || !entry.name.starts_with(name)) continue;
    std::uint64_t number = 0;
    const char* const end = entry.name.data() + entry.name.size();
    const auto read = std::from_chars(entry.name.data() + name.size(), end, number);
    if (read.ec == std::errc() && read.ptr == end && number > 0) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

// A unique name of the run. It is stored in the ledger, so it stays when the folder moves.
std::string new_name(Host& host, const std::string& run) {
  return ledger_digest(fmt::format("{} {}", run, host.clock().wall_seconds()));
}

// The options of a job on which the numbers in a ledger depend.
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
  if (plan::Place::sums_on_devices(job.topology)) arrangement["topology.copy"] = "none";
  return arrangement;
}

// The contents of arrangement.json.
struct Arrangement {
  record::LedgerOf of;
  OrderedJson numbers;
};
Result<Arrangement> arrangement(Disk& disk, const std::string& ledger) {
  const std::string path = arrangement_in(ledger);
  if (!disk.exists(path))
    return Status::corrupt(path,
                           " is missing: it has the numbers of workers and servers that wrote the files beside it");
  DLHOST_ASSIGN(const auto text, disk.read_text(path));
  try {
    Arrangement found{.of = {}, .numbers = env::parse_ordered_json(text)};
    found.of = {.run = found.numbers.value("run", ""),
                .arrangement = found.numbers.value("arrangement", of_none),
                .numbers = ledger_digest(text)};
    found.numbers.erase("run");
    found.numbers.erase("arrangement");
    return found;
  } catch (const OrderedJson::exception& error) {
    return Status::corrupt(path, " is damaged: ", record::json_fault(error));
  }
}

Result<KeptLedger> kept(Disk& disk, const std::string& ledger, config::Job job) {
  DLHOST_ASSIGN(auto known, arrangement(disk, ledger));
  try {
    for (const auto& [name, number] : numbers_of(job)) {
      *number = known.numbers.at(name);
      const std::int64_t least = number == &job.topology.slice_elements ? 0 : 1;
      if (*number < least || *number > most_of_a_number)
        return Status::corrupt(arrangement_in(ledger), ": ", name, " is ", *number, ", and must be from ", least,
                               " to ", most_of_a_number);
    }
    job.topology.consistency.type = known.numbers.at("topology.consistency");
    job.topology.shares = known.numbers.value("topology.shares", std::vector<std::int64_t>());
    const auto& shares = job.topology.shares;
    const bool sound = std::ranges::all_of(shares, [](std::int64_t share) { return share > 0; });
    if (!shares.empty() && (!sound || std::cmp_not_equal(shares.size(), job.topology.workers_per_group) ||
                            job.train.batch < job.topology.workers_per_group))
      return Status::corrupt(arrangement_in(ledger), ": topology.shares must be a share above 0 for each of ",
                             job.topology.workers_per_group, " workers");
    job.topology.copy = known.numbers.contains("topology.copy") ? config::Crossing::none : config::Crossing::automatic;
  } catch (const OrderedJson::exception& error) {
    return Status::corrupt(arrangement_in(ledger), " is damaged: ", record::json_fault(error));
  }
  return KeptLedger{.folder = ledger, .of = std::move(known.of), .job = std::move(job)};
}

} // namespace

Result<BegunLedger> begin_ledger(Host& host, const std::string& run, const config::Job& job,
                                 std::string_view job_text) {
  Disk& disk = host.disk();
  const std::string ledger = newest_in(run);
  DLHOST_ASSIGN(const auto earlier, numbered_in(disk, run, earlier_name));
  record::LedgerOf of{.run = {}, .arrangement = earlier.empty() ? 1 : earlier.back() + 1};
  const OrderedJson numbers = arrangement_of(job);
  bool goes_on = disk.exists(arrangement_in(ledger));
  if (goes_on) {
    DLHOST_ASSIGN(const auto known, arrangement(disk, ledger));
    of.run = known.of.run;
    of.numbers = known.of.numbers;
    goes_on = !of.run.empty() && known.numbers == numbers; // else an older dlhost wrote it
    if (!goes_on) DLHOST_TRY(disk.rename(ledger, earlier_in(run, of.arrangement++)));
  }
  if (!goes_on) {
    if (of.run.empty() && !earlier.empty()) { // the run ended between two arrangements
      DLHOST_ASSIGN(const auto before, arrangement(disk, earlier_in(run, earlier.back())));
      of.run = before.of.run;
    }
    if (of.run.empty()) of.run = new_name(host, run);
    OrderedJson json{{"run", of.run}, {"arrangement", of.arrangement}};
    json.update(numbers);
    const std::string text = env::json_text(json, 2) + "\n";
    of.numbers = ledger_digest(text);
    DLHOST_TRY(disk.make_directory(ledger));
    DLHOST_TRY(disk.write_text(arrangement_in(ledger), text));
  }
  if (!job_text.empty()) {
    of.job = ledger_digest(job_text);
    const std::string path = job_in(ledger, of.job);
    const auto kept = disk.exists(path) ? disk.read_text(path) : Result<std::string>(std::string());
    if (!kept.ok() || *kept != job_text) DLHOST_TRY(disk.write_text(path, job_text));
  }
  DLHOST_ASSIGN(const auto attempts, attempts_in(disk, ledger));
  of.attempt = attempts.empty() ? 1 : attempts.back() + 1;
  std::string folder = attempt_in(ledger, of.attempt);
  DLHOST_TRY(disk.make_directory(folder));
  return BegunLedger{.folder = std::move(folder), .of = std::move(of)};
}

std::string attempt_in(const std::string& ledger, std::uint64_t attempt) {
  return concat(ledger, "/", attempt_name, attempt);
}

std::string arrangement_in(const std::string& ledger) { return ledger + "/arrangement.json"; }

std::string job_in(const std::string& ledger, const std::string& digest) {
  return concat(ledger, "/job-", digest, ".toml");
}

std::string ledger_digest(std::string_view text) { return env::digest(std::as_bytes(std::span(text)), 8); }

Result<std::vector<std::uint64_t>> attempts_in(Disk& disk, const std::string& ledger) {
  return numbered_in(disk, ledger, attempt_name);
}

std::string ledger_of(const std::string& run, std::uint64_t arrangement, std::uint64_t newest) {
  return arrangement == newest ? newest_in(run) : earlier_in(run, arrangement);
}

Result<std::vector<KeptLedger>> kept_ledgers(Disk& disk, const std::string& run, const config::Job& job) {
  std::vector<KeptLedger> all;
  DLHOST_ASSIGN(auto numbers, numbered_in(disk, run, earlier_name));
  numbers.push_back(numbers.empty() ? 1 : numbers.back() + 1); // of the newest
  for (std::uint64_t number = 1; number <= numbers.back(); ++number) {
    const std::string folder = ledger_of(run, number, numbers.back());
    DLHOST_ASSIGN(const auto attempts, attempts_in(disk, folder));
    const bool has_begun = !attempts.empty() || disk.exists(arrangement_in(folder));
    if (!has_begun && number == numbers.back()) break; // no server has written there yet
    if (!has_begun)
      return Status::corrupt(folder, " is missing: the run went on in another arrangement of its workers and servers");
    DLHOST_ASSIGN(auto one, kept(disk, folder, job));
    if (one.of.arrangement != number && one.of.arrangement != of_none)
      return Status::corrupt(arrangement_in(folder), " is of arrangement ", one.of.arrangement,
                             ", but lies in the place of arrangement ", number);
    one.of.arrangement = number;
    all.push_back(std::move(one));
  }
  return all;
}

} // namespace dlhost::run
