#include "run/process_crew.h"

#include <algorithm>

#include "config/dump.h"
#include "env/heirs.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds to_end = 10'000'000'000; // that a process is given when all is over
constexpr std::size_t last_words = 2000;

// There while others may go on should the leader be gone; it names the run's folder.
std::string will_in(const std::string& folder) { return folder + "/will"; }

} // namespace

Result<std::unique_ptr<Crew>> ProcessCrew::make(Session& leader) {
  std::unique_ptr<ProcessCrew> crew(new ProcessCrew(leader));
  DLHOST_ASSIGN(crew->folder_, env::TemporaryFolder::make("dlhost-run-"));
  const std::string& folder = crew->folder_->path();
  DLHOST_TRY(leader.host().disk().write_text(job_in(folder), config::to_toml(leader.job(), env::working_folder())));
  crew->roster_.emplace(
      leader.host(), folder, Place::machines(leader.job().topology), [crew = crew.get()] { return crew->look(); },
      [crew = crew.get()](std::uint32_t seat) {
        if (seat <= crew->processes_.size()) crew->processes_[seat - 1]->kill();
      });
  return std::unique_ptr<Crew>(std::move(crew));
}

// There is nothing to inherit any more. All have the same time to end.
ProcessCrew::~ProcessCrew() {
  env::disinherit();
  env::leave_to_heirs("");
  if (roster_) roster_->fail(Status::cancelled("it is over"));
  Clock& clock = leader_.host().clock();
  const Nanoseconds end = clock.now() + to_end;
  for (auto& process : processes_) process->wait(std::max<Nanoseconds>(end - clock.now(), 0));
}

Status ProcessCrew::start() {
  std::vector<std::string> arguments;
  for (const auto& entry : leader_.registry().catalogue().entries)
    if (entry.exists) arguments.insert(arguments.end(), {"--plugin-dir", entry.where.path});
  arguments.insert(arguments.end(), {"worker", folder_->path(), "", concat(env::own_process())});
  for (std::uint32_t seat = 1; seat < roster_->seats(); ++seat) {
    arguments[arguments.size() - 2] = concat(seat);
    DLHOST_ASSIGN(auto process, env::Process::start_own(arguments, words_of(seat)));
    processes_.push_back(std::move(process));
  }
  return {};
}

std::string ProcessCrew::fate(std::uint32_t seat) {
  if (seat == 0 || seat > processes_.size()) return {};
  env::Process& process = *processes_[seat - 1];
  const auto ended = process.ended();
  const auto said = leader_.host().disk().read_text(words_of(seat));
  std::string words = said.ok() ? *said : "";
  if (words.size() > last_words) words = "..." + words.substr(words.size() - last_words);
  while (words.ends_with('\n')) words.pop_back();
  return concat("process ", process.number(), ended ? concat(" was ", *ended) : " runs",
                words.empty() ? "" : concat("; its last words: ", words));
}

// Who has ended before it came to the roster never will.
Status ProcessCrew::look() {
  for (std::uint32_t seat = 1; seat <= processes_.size(); ++seat)
    if (processes_[seat - 1]->ended()) return Status::gone("worker ", seat, " is gone: ", fate(seat));
  return {};
}

Status ProcessCrew::bequeath(const std::string& run) {
  env::leave_to_heirs(will_in(folder_->path()));
  return leader_.host().disk().write_text(will_in(folder_->path()), run);
}

std::vector<int> ProcessCrew::processes() const {
  std::vector<int> numbers;
  for (const auto& process : processes_) numbers.push_back(process->number());
  return numbers;
}

Status ProcessCrew::work(Host& host, plugin::Registry& registry, const config::Job& job, const std::string& folder,
                         std::uint32_t seat, int leader, const Outlives& outlives) {
  DLHOST_ASSIGN(const auto used, env::SharedFolder::join(folder));
  const auto leader_is_there = [&] {
    return env::parent_process() == leader ? Status() : Status::gone("the leader is gone");
  };
  // The others are the leader's to end.
  const auto end = [&](std::uint32_t other) {
    if (other == 0 && leader_is_there().ok()) env::kill(leader);
  };
  FolderRoster roster(host, folder, Place::machines(job.topology), leader_is_there, end);
  std::optional<Follower> follower;
  follower.emplace([&] { return Session::open(host, registry, job); }, roster, seat);
  Status status = follower->run();
  if (!status.ok()) {
    status = std::move(status).at("worker ", seat);
    roster.fail(status);
  }
  for (Follower* outlived : {&*follower, static_cast<Follower*>(nullptr)}) {
    if (!outlived) follower.reset(); // the leader may die over that as well
    if (!leader_is_there().ok())
      if (const auto will = host.disk().read_text(will_in(folder)); will.ok()) return outlives(*will, outlived);
  }
  return status;
}

} // namespace dlhost::run
