// A worker from step to step: orders of leaders, and answers of the others.
#include <algorithm>
#include <utility>

#include "run/worker/worker.h"

namespace dlhost::run {

namespace to_worker = param::to_worker;
using Groups = plan::Exchange::Groups;
using What = Awaited::What;

// If the run is over in the middle of a step, messages that the step waits for will not come.
Status Worker::take(std::uint32_t from, const param::ToWorker& message) {
  if (from >= map_.workers()) return Status::corrupt("a message of worker ", from, ", and there are ", map_.workers());
  if (!orders_.may_come(message, from))
    return Status::corrupt("worker ", from, " sent worker ", number_, " an order that only its leader gives");
  orders_.note(message, from);
  return param::dispatch(
      message, [](const auto&) { return Status(); },
      [&](const to_worker::Done& done) { return hear_done(from, done.step + 1); },
      [&](const to_worker::Idle& idle) {
        idle_[from] = true;
        return hear_done(from, idle.steps);
      },
      [&](const to_worker::Stop&) { return computing_ ? Status::cancelled("stopped by the leader") : Status(); },
      [&](const to_worker::Failed& failed) { return hear_failed(from, failed); },
      [&](const to_worker::Undecided& told) { return position_.hear_undecided(from, told); },
      [&](const to_worker::Attested& told) { return ledgers_.hear_attested(from, told); },
      [&](const to_worker::Aligned& told) { return alignment_.hear_aligned(from, told); },
      [&](const to_worker::Lost& told) { return lost_.hear_lost(from, told); },
      [&](const to_worker::Join& told) { return lost_.hear_join(from, told); },
      [&](const to_worker::Joined& told) { return lost_.hear_joined(from, told); },
      [&](const to_worker::Lent& told) { return loans_.hear_lent(from, told); },
      [&](const to_worker::Returned& told) { return loans_.hear_returned(from, told); });
}

Status Worker::hear_done(std::uint32_t worker, std::uint64_t steps) {
  std::uint64_t& done = ends_.steps.done[worker];
  done = std::max(done, steps);
  return {};
}

// The run is over for all. The reason is in the sender's memory.
Status Worker::hear_failed(std::uint32_t from, const to_worker::Failed& failed) {
  const auto said = ends_.memory.words(from);
  const std::string reason(said.data(), static_cast<std::size_t>(std::ranges::find(said, '\0') - said.begin()));
  const auto code =
      failed.code <= static_cast<std::uint32_t>(Code::internal) ? static_cast<Code>(failed.code) : Code::internal;
  return Status(code, concat("worker ", from, ": ", reason));
}

Status Worker::go(std::uint64_t step, double rate) {
  ends_.memory.vitals(number_).told.store(step, std::memory_order_release);
  return ends_.tell(led_, to_worker::Go{.step = step, .rate = rate});
}

Status Worker::gather(std::uint64_t step, std::vector<program::Metric>& metrics) {
  ends_.steps.done[number_] = step + 1; // all of the step is sent, even if a leader holds this worker now
  DLHOST_TRY(ends_.table->attend_until([&] {
    return ends_.waits.all_of(led_, What::parts, [&](std::uint32_t worker) { return ends_.steps.done[worker] > step; });
  }));
  for (const std::uint32_t worker : led_)
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      metrics[m].last_sum += ends_.memory.numbers(worker)[2 * m];
      metrics[m].last_count += ends_.memory.numbers(worker)[2 * m + 1];
    }
  return {};
}

Status Worker::hold_led() {
  std::vector<std::uint32_t> held = led_;
  // Before their first step the workers stand still, and those of other machines have not shown their state.
  const bool first = ends_.has_far() && number_ == 0 && !exchange_.in_step && !std::exchange(held_, true);
  if (std::exchange(others_free_, false) || first)
    for (std::uint32_t group = 1; group < map_.groups(); ++group) held.push_back(group * place().workers);
  for (const std::uint32_t worker : held) idle_[worker] = false;
  DLHOST_TRY(ends_.tell(held, to_worker::Hold()));
  const auto rests = [&](std::uint32_t worker) { return idle_[worker] || lost_.has(map_.server_group_of(worker)); };
  return ends_.table->wait_until([&] { return ends_.waits.all_of(held, What::rest, rests); });
}

Status Worker::hold() {
  // A group that is being admitted comes to its first step before.
  DLHOST_TRY(ends_.table->wait_until([this] { return ends_.waits.is_over(!lost_.admits(), Waits::on(What::rest)); }));
  holds_ = true;
  // Other groups go on meanwhile, so they have all but decided whether this worker's last step counts.
  if (exchange_.chooses_steps) DLHOST_TRY(until_answered(&param::Table::receive));
  DLHOST_TRY(hold_led());
  DLHOST_TRY(until_answered(&param::Table::flush));
  liveness_.show_memory();
  if (exchange_.chooses_steps) DLHOST_TRY(position_.ask_for_undecided());
  if (exchange_.groups != Groups::one || exchange_.folds) DLHOST_TRY(alignment_.align());
  return position_.find();
}

// Stands still until it may go on, with the workers that it leads. It may be held again meanwhile.
Status Worker::attend() {
  for (orders_.resting = true; calls() && orders_.resting && !orders_.stopped;) {
    const std::uint32_t holder = *std::exchange(orders_.holder, std::nullopt);
    DLHOST_TRY(hold_led());
    DLHOST_TRY(until_answered(&param::Table::flush));
    DLHOST_TRY(until_answered(&param::Table::settle));
    DLHOST_TRY(states_.leave());
    liveness_.show_memory();
    DLHOST_TRY(show_rest());
    DLHOST_TRY(ends_.table->send(holder, to_worker::Idle{.steps = done_by_all()}));
    DLHOST_TRY(ends_.table->wait_until([&] {
      return ends_.waits.is_over(!orders_.resting || orders_.stopped || calls(), Waits::on(What::permission, holder));
    }));
    if (!orders_.stopped) DLHOST_TRY(states_.land());
  }
  if (!orders_.stopped)
    DLHOST_TRY(ends_.tell(led_, to_worker::Free{.until = orders_.free_until})); // some may be in the middle of a step
  return orders_.stopped && computing_ ? Status::cancelled("stopped by the leader") : Status();
}

// A leader may wait, in a step that it has made, for workers that have yet to make it.
std::uint64_t Worker::done_by_all() const {
  std::uint64_t done = ends_.steps.done[number_];
  for (const std::uint32_t worker : led_) done = std::min(done, ends_.steps.done[worker]);
  return done;
}

Status Worker::stop() {
  std::vector<std::uint32_t> all = led_;
  if (number_ == 0)
    for (std::uint32_t worker = 1; worker < map_.workers(); ++worker) all.push_back(worker);
  return ends_.tell(all, to_worker::Stop());
}

// A leader frees the workers that it held. If one leader held a worker and another freed it, the worker could receive
// both orders in the wrong order, and go on while it is thought to stand still.
Status Worker::free(std::uint64_t until) {
  holds_ = false;
  until_ = until;
  if (exchange_.in_step || std::exchange(others_free_, true)) return {};
  for (std::uint32_t group = 1; group < map_.groups(); ++group)
    if (!lost_.has(map_.server_group_of(group * place().workers)))
      DLHOST_TRY(ends_.table->send(group * place().workers, to_worker::Free{.until = until}));
  return {};
}

Status Worker::leave(std::uint32_t group) {
  for (std::uint32_t rank = 0; rank < place().workers; ++rank)
    DLHOST_TRY(ends_.table->leave({static_cast<std::uint16_t>(group), static_cast<std::uint16_t>(rank)}));
  return {};
}

Status Worker::conclude() {
  if (!exchange_.by_step) return {};
  for (std::uint32_t group = place().first_served + 1; group < place().first_served + place().served; ++group)
    DLHOST_TRY(leave(group));
  DLHOST_TRY(until_answered(&param::Table::receive));
  return position_.find();
}

Status Worker::wait_for_groups(std::uint64_t steps) {
  return ends_.table->wait_until([&] {
    for (std::uint32_t group = 1; group < map_.groups(); ++group)
      if (const std::uint32_t first = group * place().workers;
          ends_.steps.done[first] < steps || lost_.has(map_.server_group_of(first)))
        return ends_.waits.is_over(false, Waits::on(What::steps, first));
    return ends_.waits.is_over(true, {});
  });
}

Result<std::optional<std::uint64_t>> Worker::freed(std::uint64_t done) {
  computing_ = false;
  ends_.steps.done[number_] = done;
  DLHOST_TRY(lost_leader_.look());
  const auto finished = [&] { return !left_ && orders_.free_until > 0 && orders_.free_until <= done; };
  const auto news = [&] {
    return ends_.waits.is_over(orders_.stopped || (!calls() && (orders_.free_until > done || finished())),
                               Waits::on(What::step, 0));
  };
  DLHOST_TRY(ends_.table->attend_until(news));
  if (!orders_.stopped && finished()) {
    left_ = true;
    DLHOST_TRY(until_answered(&param::Table::flush));
    DLHOST_TRY(leave(place().group));
    DLHOST_TRY(ends_.table->send(0, to_worker::Done{.step = done - 1}));
    DLHOST_TRY(ends_.table->attend_until(news));
  }
  if (orders_.stopped) return std::optional<std::uint64_t>();
  computing_ = true;
  return std::optional(orders_.free_until);
}

Result<std::optional<Worker::Go>> Worker::next() {
  DLHOST_TRY(lost_leader_.look());
  DLHOST_TRY(ends_.table->attend_until([&] {
    return ends_.waits.is_over(orders_.stopped || (!calls() && orders_.go), Waits::on(What::step, orders_.leader));
  }));
  if (orders_.stopped) return std::optional<Go>();
  computing_ = true;
  return std::exchange(orders_.go, std::nullopt);
}

Status Worker::done(std::uint64_t step, const std::vector<program::Metric>& metrics) {
  const auto numbers = ends_.memory.numbers(number_);
  if (2 * metrics.size() > numbers.size())
    return Status::unsupported("more than ", numbers.size() / 2, " metrics with several workers");
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    numbers[2 * m] = metrics[m].last_sum;
    numbers[2 * m + 1] = metrics[m].last_count;
  }
  computing_ = false;
  ends_.steps.done[number_] = step + 1;
  return ends_.table->send(orders_.leader, to_worker::Done{.step = step},
                           shown(orders_.leader, ends_.memory.places().numbers, 2 * metrics.size() * sizeof(double),
                                 record::Cargo::control));
}

} // namespace dlhost::run
