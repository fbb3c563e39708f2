// A worker from step to step: orders of leaders, and answers of the others.
#include <algorithm>
#include <utility>

#include "run/worker/orders.h"
#include "run/worker/worker.h"

namespace dlhost::run {

using param::Message;
using param::Word;
using Groups = plan::Exchange::Groups;
using What = Awaited::What;

Status Worker::take(const Message& message) {
  if (message.seat >= map_.workers())
    return Status::corrupt("a message of worker ", message.seat, ", and there are ", map_.workers());
  if (!Orders{leads() ? param::leading_seat : leader_}.may_come(message.word, message.seat))
    return Status::corrupt("worker ", message.seat, " sent worker ", number_, " an order that only its leader gives");
  std::vector<std::uint64_t>& done = ends_.steps.done;
  switch (message.word) {
  case Word::put: put_ = true; return {};
  case Word::go:
    go_ = {message.step, message.rate};
    resting_ = false;
    return {};
  case Word::free:
    free_until_ = message.step;
    resting_ = false;
    return {};
  case Word::hold: holder_ = message.seat; return {};
  case Word::stop: // in the middle of a step, messages that it waits for will not come
    stopped_ = true;
    return computing_ ? Status::cancelled("stopped by the leader") : Status();
  case Word::done: done[message.seat] = std::max(done[message.seat], message.step + 1); return {};
  case Word::idle:
    done[message.seat] = std::max(done[message.seat], message.step);
    idle_[message.seat] = true;
    return {};
  case Word::failed: return hear_failed(message);
  case Word::alive: return {};
  case Word::undecided: return position_.hear_undecided(message);
  case Word::attested: return ledgers_.hear_attested(message);
  case Word::lost: return lost_.hear_lost(message);
  case Word::join: return lost_.hear_join(message);
  case Word::joined: lost_.hear_joined(message); return {};
  case Word::aligned: return alignment_.hear_aligned(message);
  default: return Status::corrupt("a message that is not for a worker");
  }
}

// The run is over for all.
Status Worker::hear_failed(const Message& message) {
  stopped_ = true;
  const auto said = ends_.memory.words(message.seat);
  const std::string reason(said.data(), static_cast<std::size_t>(std::ranges::find(said, '\0') - said.begin()));
  const auto code =
      message.step <= static_cast<std::uint64_t>(Code::internal) ? static_cast<Code>(message.step) : Code::internal;
  return Status(code, concat("worker ", message.seat, ": ", reason));
}

Status Worker::go(std::uint64_t step, double rate) {
  ends_.memory.vitals(number_).told.store(step, std::memory_order_release);
  return ends_.tell(led_, {.word = Word::go, .step = step, .rate = rate});
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
  DLHOST_TRY(ends_.tell(held, {.word = Word::hold}));
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
  for (resting_ = true; calls() && resting_ && !stopped_;) {
    const std::uint32_t holder = *std::exchange(holder_, std::nullopt);
    DLHOST_TRY(hold_led());
    DLHOST_TRY(until_answered(&param::Table::flush));
    DLHOST_TRY(until_answered(&param::Table::settle));
    DLHOST_TRY(states_.leave());
    liveness_.show_memory();
    DLHOST_TRY(show_rest());
    DLHOST_TRY(ends_.table->send(holder, {.word = Word::idle, .step = done_by_all()}));
    DLHOST_TRY(ends_.table->wait_until(
        [&] { return ends_.waits.is_over(!resting_ || stopped_ || calls(), Waits::on(What::word, holder)); }));
    if (!stopped_) DLHOST_TRY(states_.land());
  }
  if (!stopped_)
    DLHOST_TRY(ends_.tell(led_, {.word = Word::free, .step = free_until_})); // some may be in the middle of a step
  return stopped_ && computing_ ? Status::cancelled("stopped by the leader") : Status();
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
  return ends_.tell(all, {.word = Word::stop});
}

// A leader frees the workers that it held. If one leader held a worker and another freed it, the worker could receive
// both orders in the wrong order, and go on while it is thought to stand still.
Status Worker::free(std::uint64_t until) {
  holds_ = false;
  until_ = until;
  if (exchange_.in_step || std::exchange(others_free_, true)) return {};
  for (std::uint32_t group = 1; group < map_.groups(); ++group)
    if (!lost_.has(map_.server_group_of(group * place().workers)))
      DLHOST_TRY(ends_.table->send(group * place().workers, {.word = Word::free, .step = until}));
  return {};
}

Status Worker::leave(std::uint32_t group) {
  for (std::uint32_t rank = 0; rank < place().workers; ++rank)
    DLHOST_TRY(ends_.table->leave(static_cast<std::uint16_t>(group), static_cast<std::uint16_t>(rank)));
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
  const auto finished = [&] { return !left_ && free_until_ > 0 && free_until_ <= done; };
  const auto news = [&] {
    return ends_.waits.is_over(stopped_ || (!calls() && (free_until_ > done || finished())), Waits::on(What::step, 0));
  };
  DLHOST_TRY(ends_.table->attend_until(news));
  if (!stopped_ && finished()) {
    left_ = true;
    DLHOST_TRY(until_answered(&param::Table::flush));
    DLHOST_TRY(leave(place().group));
    DLHOST_TRY(ends_.table->send(0, {.word = Word::done, .step = done - 1}));
    DLHOST_TRY(ends_.table->attend_until(news));
  }
  if (stopped_) return std::optional<std::uint64_t>();
  computing_ = true;
  return std::optional(free_until_);
}

Result<std::optional<Worker::Go>> Worker::next() {
  DLHOST_TRY(ends_.table->attend_until(
      [&] { return ends_.waits.is_over(stopped_ || (!calls() && go_), Waits::on(What::step, leader_)); }));
  if (stopped_) return std::optional<Go>();
  computing_ = true;
  return std::exchange(go_, std::nullopt);
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
  return ends_.table->send(
      leader_, {.word = Word::done, .step = step},
      shown(leader_, ends_.memory.places().numbers, 2 * metrics.size() * sizeof(double), record::Cargo::control));
}

void Worker::await_end() {
  if (!ends_.table) return;
  Clock& clock = host().clock();
  const Nanoseconds end = clock.now() + 5'000'000'000;
  const auto leads = [&] { return std::ranges::find(ends_.post->gone(), 0U) == ends_.post->gone().end(); };
  while (!stopped_ && ends_.address_book.failure().ok() && leads() && clock.now() < end)
    ends_.table->progress(10'000'000).ignore("more may go, now that one has");
}

} // namespace dlhost::run
