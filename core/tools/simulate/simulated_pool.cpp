#include "tools/simulate/simulated_pool.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "env/simulated/processes.h"
#include "run/membership/meeting_folder.h"
#include "run/recovery/succession.h"

namespace dlhost::tools {
namespace {

constexpr Nanoseconds to_end = 10'000'000'000; // the time in which a process must end when the run is over
constexpr Nanoseconds end_pause = 1'000'000;

// The work of a worker's process. Requires: the members outlive it; the leader's objects do not.
struct Work {
  env::simulated::World& world;
  Host& host;
  plugin::Registry& registry;
  std::shared_ptr<Crew> crew;
  std::string folder;
  std::uint32_t seat;
  int leader;          // the leader's process
  std::uint32_t joins; // number of the group with which it joins a running run; 0: it begins with all others

  void operator()() const {
    constexpr Nanoseconds longest_start = 20'000'000; // so that processes come in another order than they were started
    if (joins > 0) host.clock().sleep(longest_start / 64 * world.below(64));
    const config::Job& job = crew->jobs[seat];
    env::simulated::SimulatedProcesses processes(world);
    int follows = leader; // it may take the place of the one that started this process
    const auto leader_is_there = [&] {
      return processes.runs(follows) ? Status() : Status::gone("the leader is gone");
    };
    run::FolderAddressBook address_book(host, folder, run::Posting{plan::Place::machines(job.topology)},
                                        {.look = leader_is_there,
                                         .end =
                                             [&](std::uint32_t other) {
                                               if (other == 0) processes.kill(follows);
                                             },
                                         .joins = joins,
                                         .is_led = [&] { return run::leader_of(host.disk(), processes, folder) != 0; },
                                         .follow = [&] { follows = run::leader_of(host.disk(), processes, folder); }});
    const run::WorkerProcess process{
        .folder = folder,
        .seat = seat,
        .open =
            [&](std::uint32_t turn) { return run::Session::open(host, registry, job, run::Purpose::training, turn); },
        .leader_is_there = leader_is_there,
        .outlives = [&](const std::string& run, run::Follower* last) { return crew->outlives(run, follows, last); }};
    run::work(host, process, address_book).ignore("the leader reports it, or another process takes its place");
  }
};

} // namespace

Result<std::unique_ptr<run::WorkerPool>> SimulatedPool::make(env::simulated::World& world, run::Session& leader,
                                                             const std::string& folder, std::shared_ptr<Crew> crew) {
  DLHOST_TRY(leader.host().disk().make_directory(folder));
  std::unique_ptr<SimulatedPool> pool(new SimulatedPool(world, leader, folder, std::move(crew)));
  pool->take_up();
  return std::unique_ptr<run::WorkerPool>(std::move(pool));
}

void SimulatedPool::take_up() {
  address_book_.emplace(
      leader_.host(), folder_, run::Posting{plan::Place::machines(leader_.job().topology)},
      run::FolderAddressBook::Setup{.look = [this] { return look(); },
                                    .end = [this](std::uint32_t seat) { world_.kill(crew_->processes.at(seat - 1)); },
                                    .joins = number_});
}

// A process of the first group may be this one, which has become the leader.
Result<std::unique_ptr<run::WorkerPool>> SimulatedPool::adopt(env::simulated::World& world, run::Session& leader,
                                                              const run::GoingOn& going_on,
                                                              std::shared_ptr<Crew> crew) {
  std::unique_ptr<SimulatedPool> pool(new SimulatedPool(world, leader, going_on.meeting, std::move(crew)));
  pool->first_group_ = going_on.homes.at(1);
  DLHOST_ASSIGN(pool->number_, run::MeetingFolder::take_number(leader.host().disk(), going_on.meeting));
  pool->take_up();
  std::vector<std::uint32_t> seats(pool->first_group_);
  std::iota(seats.begin(), seats.end(), 0U);
  for (const std::uint32_t seat : seats)
    if (seat > 0 && pool->crew_->processes.at(seat - 1) != world.process())
      world.kill(pool->crew_->processes[seat - 1]);
  DLHOST_TRY(pool->address_book_->admissions()->invite(seats));
  return std::unique_ptr<run::WorkerPool>(std::move(pool));
}

// Waits for the workers to end, and kills the rest. If the leader itself was killed, it waits for none: the workers
// notice the leader's death themselves.
SimulatedPool::~SimulatedPool() {
  if (is_let_go_ || !address_book_) return;
  address_book_->fail(Status::cancelled("it is over"));
  const Nanoseconds end = world_.now() + to_end;
  const auto runs = [this](int process) { return world_.runs(process); };
  while (world_.lives() && world_.now() < end && std::ranges::any_of(crew_->processes, runs))
    world_.pause(end_pause, "waits for its workers to end");
  if (world_.lives())
    for (const int process : crew_->processes) world_.kill(process);
}

Status SimulatedPool::start() {
  for (std::uint32_t seat = 1; number_ == 0 && seat < address_book_->workers(); ++seat)
    crew_->processes.push_back(start(seat, 0));
  for (std::uint32_t seat = 1; number_ > 0 && seat < first_group_; ++seat) DLHOST_TRY(restart(seat, number_));
  return {};
}

int SimulatedPool::start(std::uint32_t seat, std::uint32_t joins) {
  return world_.start(concat("worker ", seat),
                      Work{.world = world_,
                           .host = leader_.host(),
                           .registry = leader_.registry(),
                           .crew = crew_,
                           .folder = folder_,
                           .seat = seat,
                           .leader = world_.process(),
                           .joins = joins},
                      world_.machine());
}

Status SimulatedPool::bequeath(const std::string& run) {
  DLHOST_TRY(run::MeetingFolder::bequeath(leader_.host().disk(), folder_, run));
  crew_->may_take_over = true;
  return {};
}

bool SimulatedPool::has_ended(std::uint32_t seat) { return !world_.runs(crew_->processes.at(seat - 1)); }

Status SimulatedPool::restart(std::uint32_t seat, std::uint32_t number) {
  crew_->processes.at(seat - 1) = start(seat, number);
  return {};
}

std::vector<run::RunProcess> SimulatedPool::processes() {
  std::vector<run::RunProcess> all;
  for (const int process : crew_->processes) all.push_back({"world", process});
  return all;
}

std::string SimulatedPool::fate(std::uint32_t seat) {
  if (seat == 0 || seat > crew_->processes.size()) return {};
  const int process = crew_->processes[seat - 1];
  return concat("process ", process, world_.runs(process) ? " runs" : " has ended");
}

// The processes of other groups may end without an end of the run.
Status SimulatedPool::look() {
  const auto seats = number_ == 0 ? crew_->processes.size() : first_group_ - 1;
  for (std::uint32_t seat = 1; seat <= seats; ++seat)
    if (has_ended(seat)) return Status::gone("worker ", seat, " is gone: ", fate(seat));
  return {};
}

} // namespace dlhost::tools
