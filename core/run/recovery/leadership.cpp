#include "run/recovery/leadership.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "env/file_lock.h"
#include "env/json_text.h"
#include "env/secret.h"
#include "record/json_fault.h"

namespace dlhost::run {
namespace {

std::string lock_of(const std::string& run) { return concat(run, "/", Leadership::file_name); }
std::string words_of(const std::string& run) { return lock_of(run) + ".json"; }

nlohmann::json json_of(const std::vector<RunProcess>& processes) {
  nlohmann::json text = nlohmann::json::array();
  for (const RunProcess& one : processes) text.push_back({{"host", one.host}, {"process", one.process}});
  return text;
}

std::vector<RunProcess> processes_in(const nlohmann::json& text) {
  std::vector<RunProcess> processes;
  for (const auto& one : text) processes.push_back({one.at("host"), one.at("process")});
  return processes;
}

} // namespace

bool GoingOn::any(env::Processes& processes) const {
  const auto runs = [&](const RunProcess& worker) { // this process may have been one of them
    return worker.process != processes.own() && processes.runs(worker.process);
  };
  if (meeting.empty() || homes.empty()) return false;
  for (std::size_t group = 1; group < homes.size(); ++group) {
    const std::size_t first = homes[group] - 1, last = group + 1 < homes.size() ? homes[group + 1] - 1 : workers.size();
    if (first < last && last <= workers.size() && std::all_of(&workers[first], workers.data() + last, runs))
      return true;
  }
  return false;
}

Result<Leadership> Leadership::take(Disk& disk, env::Processes& processes, const std::string& run,
                                    const std::string& host, const std::string& membership,
                                    const std::function<Status()>& before) {
  DLHOST_ASSIGN(auto lock, processes.lock(lock_of(run)));
  const auto leader = told(disk, run);
  if (lock) {
    if (before) DLHOST_TRY(before());
    const bool is_said = !membership.empty() || !leader.ok();
    Leadership leadership(disk, run, std::move(lock), env::to_text(env::draw_secret()),
                          is_said ? membership : leader->membership);
    DLHOST_TRY(leadership.tell({.host = host,
                                .process = processes.own(),
                                .past = leader.ok() ? leader->past : Recovery::Past(),
                                .going_on = leader.ok() ? leader->going_on : GoingOn()}));
    return leadership;
  }
  return Status::exists("the run in ", run, " goes on: process ", leader.ok() ? leader->process : 0, " of ",
                        leader.ok() ? leader->host : "another machine", " leads it; `dlhost stop ", run,
                        "` lets it save and end");
}

Result<Leadership> Leadership::adopt(Disk& disk, env::Processes& processes, const std::string& run, int handed_over) {
  DLHOST_ASSIGN(auto before, told(disk, run));
  DLHOST_ASSIGN(auto lock, processes.adopt(handed_over, lock_of(run)));
  return Leadership(disk, run, std::move(lock), std::move(before.mark), std::move(before.membership));
}

Result<Leadership> Leadership::await(Host& host, env::Processes& processes, const std::string& run,
                                     const std::string& machine, const std::string& membership, Nanoseconds limit) {
  constexpr Nanoseconds between = 20'000'000;
  Clock& clock = host.clock();
  for (const Nanoseconds end = clock.now() + limit;; clock.sleep(between)) {
    auto taken = take(host.disk(), processes, run, machine, membership);
    if (taken.ok() || taken.status().code() != Code::exists || clock.now() >= end) return taken;
  }
}

Status Leadership::tell(const Leader& leader) {
  const nlohmann::json text{{"host", leader.host},
                            {"process", leader.process},
                            {"recoveries", leader.past.times},
                            {"tries", leader.past.tries},
                            {"furthest", leader.past.furthest},
                            {"mark", mark_},
                            {"membership", membership_},
                            {"workers", json_of(leader.workers)},
                            {"going_on",
                             {{"meeting", leader.going_on.meeting},
                              {"homes", leader.going_on.homes},
                              {"workers", json_of(leader.going_on.workers)}}}};
  return disk_->write_text(words_of(run_), env::json_text(text) + "\n");
}

Result<Leader> Leadership::told(Disk& disk, const std::string& run) {
  const std::string path = words_of(run);
  if (!disk.exists(path)) return Leader();
  DLHOST_ASSIGN(const auto text, disk.read_text(path));
  try {
    const auto said = env::parse_json(text);
    Leader leader{.host = said.at("host"),
                  .process = said.at("process"),
                  .workers = processes_in(said.at("workers")),
                  .past = {.times = said.at("recoveries"), .tries = said.at("tries"), .furthest = said.at("furthest")},
                  .mark = said.at("mark"),
                  .membership = said.at("membership")};
    const auto& going_on = said.at("going_on");
    leader.going_on = {.meeting = going_on.at("meeting"),
                       .homes = going_on.at("homes").get<std::vector<std::uint32_t>>(),
                       .workers = processes_in(going_on.at("workers"))};
    return leader;
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(path, " is damaged: ", record::json_fault(error));
  }
}

Result<bool> Leadership::led(const std::string& run) { return env::FileLock::held(lock_of(run)); }

} // namespace dlhost::run
