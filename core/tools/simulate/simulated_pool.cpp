#include "tools/simulate/simulated_pool.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "run/worker/follower.h"

namespace dlhost::tools {
namespace {

constexpr Nanoseconds to_end = 10'000'000'000; // the time in which a process must end when the run is over
constexpr Nanoseconds end_pause = 1'000'000;

// The work of a worker's process. Requires: the members outlive it; the leader's objects do not.
struct Work {
  env::simulated::World& world;
  Host& host;
  plugin::Registry& registry;
  const config::Job& job;
  std::string folder;
  std::uint32_t seat;
  int leader;          // the leader's process
  std::uint32_t joins; // number of the group with which it joins a running run; 0: it begins with all others
  std::shared_ptr<Succession> succession;

  void operator()() const {
    const auto leader_is_there = [this] { return world.runs(leader) ? Status() : Status::gone("the leader is gone"); };
    run::FolderAddressBook address_book(
        host, folder, run::Posting{plan::Place::machines(job.topology)}, leader_is_there,
        [this](std::uint32_t other) {
          if (other == 0) world.kill(leader);
        },
        joins);
    const auto inherits = [this] {
      return world.lives() && !world.runs(leader) && !succession->run.empty() && succession->take(world);
    };
    std::optional<run::Follower> follower;
    follower.emplace(
        [this](std::uint32_t turn) { return run::Session::open(host, registry, job, run::Purpose::training, turn); },
        address_book, seat);
    Status status = follower->run();
    if (!status.ok()) address_book.fail(std::move(status).at("worker ", seat));
    const bool in_time = inherits();
    if (in_time)
      follower->salvage(succession->run, [](std::uint32_t) {}).ignore("the run goes on from the newest point, then");
    follower.reset(); // takes time, in which the leader may die
    if (world.lives() && (in_time || inherits())) succession->take_over();
  }
};

} // namespace

Result<std::unique_ptr<run::WorkerPool>> SimulatedPool::make(env::simulated::World& world, run::Session& leader,
                                                             std::span<const config::Job> jobs,
                                                             const std::string& folder,
                                                             std::shared_ptr<Succession> succession,
                                                             std::shared_ptr<std::vector<int>> processes) {
  DLHOST_TRY(leader.host().disk().make_directory(folder));
  std::unique_ptr<SimulatedPool> pool(
      new SimulatedPool(world, leader, jobs, folder, std::move(succession), std::move(processes)));
  pool->address_book_.emplace(
      leader.host(), folder, run::Posting{plan::Place::machines(leader.job().topology)},
      [pool = pool.get()] { return pool->look(); },
      [pool = pool.get()](std::uint32_t seat) { pool->world_.kill(pool->processes_->at(seat - 1)); }, 0);
  return std::unique_ptr<run::WorkerPool>(std::move(pool));
}

// Waits for the workers to end, and kills the rest. If the leader itself was killed, it waits for none: the workers
// notice the leader's death themselves.
SimulatedPool::~SimulatedPool() {
  address_book_->fail(Status::cancelled("it is over"));
  const Nanoseconds end = world_.now() + to_end;
  const auto runs = [this](int process) { return world_.runs(process); };
  while (world_.lives() && world_.now() < end && std::ranges::any_of(*processes_, runs))
    world_.pause(end_pause, "waits for its workers to end");
  if (world_.lives())
    for (const int process : *processes_) world_.kill(process);
}

Status SimulatedPool::start() {
  for (std::uint32_t seat = 1; seat < address_book_->workers(); ++seat) processes_->push_back(start(seat, 0));
  return {};
}

int SimulatedPool::start(std::uint32_t seat, std::uint32_t joins) {
  return world_.start(concat("worker ", seat),
                      Work{.world = world_,
                           .host = leader_.host(),
                           .registry = leader_.registry(),
                           .job = jobs_[seat],
                           .folder = folder_,
                           .seat = seat,
                           .leader = world_.process(),
                           .joins = joins,
                           .succession = succession_},
                      world_.machine());
}

bool SimulatedPool::has_ended(std::uint32_t seat) { return !world_.runs(processes_->at(seat - 1)); }

Status SimulatedPool::restart(std::uint32_t seat, std::uint32_t number) {
  processes_->at(seat - 1) = start(seat, number);
  return {};
}

std::vector<run::RunProcess> SimulatedPool::processes() {
  std::vector<run::RunProcess> all;
  for (const int process : *processes_) all.push_back({"world", process});
  return all;
}

std::string SimulatedPool::fate(std::uint32_t seat) {
  if (seat == 0 || seat > processes_->size()) return {};
  const int process = (*processes_)[seat - 1];
  return concat("process ", process, world_.runs(process) ? " runs" : " has ended");
}

Status SimulatedPool::look() {
  for (std::uint32_t seat = 1; seat <= processes_->size(); ++seat)
    if (has_ended(seat)) return Status::gone("worker ", seat, " is gone: ", fate(seat));
  return {};
}

} // namespace dlhost::tools
