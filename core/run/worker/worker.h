// One worker of a run: it shares params with the others, and moves with them from step to step.
//
//   open()   while its program is made: takes the memory that is shared
//   join()   when all workers have theirs: connects, and makes the client, and the server beside it
//   then     leaders call go() and gather the results; the others wait for next()
//
// The first worker leads the run: it alone evaluates, saves and reports. If all contributions make each update together
// and no group is ahead, it orders each step of all. Else the first worker of each group leads its group, which makes
// steps by itself while it is free.
//
// Thread: the worker's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "param/table/device_sums.h"
#include "param/table/shared_params.h"
#include "run/worker/alignment.h"
#include "run/worker/device_peers.h"
#include "run/worker/kept_values.h"
#include "run/worker/ledger_keeper.h"
#include "run/worker/liveness.h"
#include "run/worker/loans.h"
#include "run/worker/lost_groups.h"
#include "run/worker/lost_leader.h"
#include "run/worker/orders.h"
#include "run/worker/position.h"
#include "run/worker/running_state.h"
#include "run/worker/salvage.h"
#include "run/worker/worker_ends.h"

namespace dlhost::run {

class Worker final : public param::SharedParams, public param::DeviceSums, private param::ControlHandler {
 public:
  static Result<std::unique_ptr<Worker>> make(Session&, AddressBook&, std::uint32_t number);

  const plan::Place& place() const { return ends_.layout.place; }
  Host& host() const { return ends_.session.host(); }
  bool joint() const { return exchange_.joint; } // all groups' contributions make an update together
  bool leads() const { return number_ == 0 || (!exchange_.in_step && place().rank == 0); }

  // As SharedParams and DeviceSums say.
  Bytes bytes(const param::Store& store) const override { return ends_.layout.bytes(store); }
  std::optional<param::Factors> factors(const param::Param& param, const param::Factors& own,
                                        const param::Pieces& pieces) const override {
    return ends_.layout.factors(param, own, pieces);
  }
  Status open(param::Store&) override;
  std::span<std::byte> contribution(const param::Param& param) override {
    return ends_.memory.own().subspan(ends_.memory.places().gradients.offset(param.number));
  }
  param::Table& table() override { return *ends_.table; }
  Status progress() override { return ends_.table->progress(); }
  std::optional<double> gradient_norm() const override { return ends_.gradient_norm(); }
  void beat() override { liveness_.beat(orders_.are_values_put); }
  Peers& peers() override { return peers_.peers(); }
  program::BoxExchange& boxes() { return loans_; }
  Status wait_for_device(const std::function<Result<bool>()>& done) override { return peers_.wait(done); }
  std::vector<std::vector<param::TensorPlace>> own_values() override { return kept_.of_workers(); }
  std::vector<std::vector<param::TensorPlace>> values_elsewhere() override { return kept_.of_server_groups(); }

  Status join();
  Status begin(const param::StartPoint&);
  // The run's leader, when all workers know where they begin: the first values are everywhere.
  Status put();
  // If each worker has all params and devices sum: all get the leader's values and histories, by their devices.
  Status spread_params() { return peers_.spread_params(*this); }
  // Lets others notice messages that were lost on their way to them.
  Status see_what_was_lost();

  // A leader's.
  Status go(std::uint64_t step, double rate);
  // Waits until the workers that it leads have computed the step; adds their metrics.
  Status gather(std::uint64_t step, std::vector<program::Metric>&);
  // Waits until no worker that it leads computes, and the servers have dealt with all contributions.
  Status hold();
  Status stop();

  // The run's leader's.
  // Other groups may make steps up to this one by themselves.
  Status free(std::uint64_t until);
  Status wait_for_groups(std::uint64_t steps);
  // After hold(), if groups are chosen for whole steps: the other groups make no more steps, so that no step of the
  // leader's group waits for them.
  Status conclude();
  // The position of all workers at the last hold(); before that, where they began.
  const param::StartPoint& reached() const { return ends_.steps.reached; }
  // After hold(): syncs all ledgers; heads() are theirs.
  Status attest() { return ledgers_.attest(); }
  const record::LedgerHeads& heads() const { return ledgers_.heads(); }
  // After hold(): running state becomes the same everywhere.
  Status merge_states();
  bool have_all_made(std::uint64_t steps) const; // at the last hold()

  // After a death, when no worker computes or serves: the surviving state.
  bool can_salvage() const { return exchange_.versions_outlive && !ends_.steps.begun.steps.empty(); }
  Result<param::StartPoint> salvage();
  void await_retirement(const std::function<void(std::uint32_t worker)>& end) const {
    salvage_.await_retirement([this](std::uint32_t worker) { return lost_.is_lost(worker); }, end);
  }

  // Server groups that are lost while the others go on (run/recovery/replacing.h). `look`: called while it waits.
  // Errors: the run does not go on.
  LostGroups& lost_groups() { return lost_; }
  std::vector<std::uint32_t> workers_of(std::uint32_t server_group) const { return map_.workers_of(server_group); }
  void look_after_lost(std::function<Status()> look) { look_ = std::move(look); }
  bool may_admit() const { return !holds_ && !lost_.admits(); }
  Status admit(std::uint32_t server_group, param::Joining);
  Status release() { return lost_.release(others_free_ ? std::optional(until_) : std::nullopt); }
  Nanoseconds take_stood_still() { return alignment_.take_stood_still(); }

  // Of a group's leader that is not the run's: how many steps it may make by now; empty: the run is over.
  Result<std::optional<std::uint64_t>> freed(std::uint64_t done);

  // Of a worker that does not lead.
  using Go = param::to_worker::Go;
  Result<std::optional<Go>> next(); // empty: the run is over
  Status done(std::uint64_t step, const std::vector<program::Metric>&);

  // The worker computes and serves no more.
  void retire();

  // Around what may take long without beats.
  void set_away(bool away) { liveness_.set_away(away); }
  // Shows that to other machines, before the worker does nothing else for long.
  Status show_away();
  void show(const StepTimes& times) { ends_.memory.vitals(number_).show(times); }
  std::vector<record::WorkerReport> reports() const { return liveness_.reports(); }

  bool stopped() const { return orders_.stopped; }
  // Waits until the leader has stopped all, has told why the run does not begin, or is gone; but not for long.
  void await_end() { lost_leader_.await_end(); }

  // Workers whose task or process is no longer there.
  std::vector<std::uint32_t> gone() const { return ends_.post ? ends_.post->gone() : std::vector<std::uint32_t>(); }
  const param::Table::Times& times() const { return ends_.table->times(); }
  const WorkerEnds& ends() const { return ends_; }

 private:
  Worker(Session&, AddressBook&, plan::ExchangePlugins, std::uint32_t number);
  void find_led();
  Status connect();
  Status take(std::uint32_t from, const param::ToWorker&) override;
  Status hear_done(std::uint32_t worker, std::uint64_t steps);
  Status hear_failed(std::uint32_t from, const param::to_worker::Failed&);
  bool calls() const override { return orders_.holder.has_value(); }
  Status attend() override;
  Status watch() override;
  Result<bool> lose(std::uint32_t worker) override { return lost_.lose(worker); }
  param::Post::Shown shown(std::uint32_t worker, std::size_t place, std::size_t bytes, record::Cargo cargo) override {
    return ends_.memory.shown(worker, place, bytes, cargo);
  }
  Status hold_led();
  std::uint64_t done_by_all() const; // this worker and those that it leads
  Status leave(std::uint32_t group);
  Status show_rest();
  Status await_put();
  Status until_answered(Status (param::Table::*asks)()) { return ends_.waits.until_answered(*ends_.table, asks); }

  WorkerEnds ends_;
  const plan::Exchange& exchange_;
  const plan::WorkerMap& map_;
  const std::uint32_t number_;
  std::vector<std::uint32_t> led_; // workers that it leads
  Orders orders_;
  LostGroups lost_;
  LostLeader lost_leader_;
  Alignment alignment_;
  Position position_;
  Salvage salvage_;
  KeptValues kept_;
  LedgerKeeper ledgers_;
  RunningState states_;
  Liveness liveness_;
  DevicePeers peers_;
  Loans loans_;

  bool left_ = false; // its group makes no more steps
  bool computing_ = false;
  std::vector<bool> idle_; // workers that said so since they were held

  // The run's leader's.
  std::function<Status()> look_;
  bool held_ = false;        // once at least
  bool holds_ = false;       // the others stand still, or are about to
  bool others_free_ = false; // other groups were freed since they stood still
  std::uint64_t until_ = 0;  // the step up to which they are free
};

} // namespace dlhost::run
