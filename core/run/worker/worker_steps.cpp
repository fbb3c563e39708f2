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
  case Word::undecided: return hear_undecided(message);
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

Status Worker::hear_undecided(const Message& message) {
  const bool is_asked = unanswered_ > 0 && message.group < map_.groups() &&
                        message.seat == map_.home_of(map_.server_group_of(message.group * place().workers));
  if (!is_asked)
    return Status::corrupt("worker ", message.seat, " tells which steps of group ", message.group,
                           " are undecided, which this worker did not ask");
  --unanswered_;
  undecided_[message.group] = message.step;
  return {};
}

Status Worker::go(std::uint64_t step, double rate) {
  ends_.memory.vitals(number_).told.store(step, std::memory_order_release);
  return ends_.tell(led_, {.word = Word::go, .step = step, .rate = rate});
}

Status Worker::gather(std::uint64_t step, std::vector<program::Metric>& metrics) {
  ends_.steps.done[number_] = step + 1; // all of it is sent, whoever wants it to stand still now
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
  if (exchange_.chooses_steps) DLHOST_TRY(ask_for_undecided());
  if (exchange_.groups != Groups::one || exchange_.folds) DLHOST_TRY(alignment_.align());
  return find_reached();
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
  return find_reached();
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

void Worker::fail(const Status& status) {
  if (!ends_.table) return; // no worker listens yet
  const auto said = ends_.memory.words(number_);
  const std::string& message = status.message();
  const std::size_t length = std::min(message.size(), said.size() - 1);
  std::ranges::copy_n(message.begin(), static_cast<std::ptrdiff_t>(length), said.begin());
  said[length] = '\0';
  std::vector<std::uint32_t> others;
  for (std::uint32_t worker = 0; worker < map_.workers(); ++worker) {
    if (worker == number_) continue;
    ends_.post->show(shown(worker, ends_.memory.places().words, length + 1, record::Cargo::control))
        .ignore("a worker that cannot be told notices that this one is gone");
    others.push_back(worker);
  }
  ends_.tell(others, {.word = Word::failed, .step = static_cast<std::uint64_t>(status.code())})
      .ignore("a worker that cannot be told notices that this one is gone");
  await_sent();
}

Status Worker::ask_for_undecided() {
  undecided_.assign(map_.groups(), 0);
  unanswered_ = map_.groups();
  for (std::uint32_t group = 0; group < map_.server_groups(); ++group)
    DLHOST_TRY(ends_.table->send(map_.home_of(group), {.word = param::Word::complete}));
  return ends_.table->wait_until([this] { return ends_.waits.is_over(unanswered_ == 0, Waits::on(What::answers)); });
}

// A worker may repeat steps because others of its group had not come that far: these steps are in already. Of some
// slices, steps that it was to repeat from the beginning on are in too, though it has not come to them yet. If groups
// are chosen for whole steps, a step that only some workers of a group have sent is in no version.
Status Worker::find_reached() {
  DLHOST_TRY(until_answered(&param::Table::look));
  param::StartPoint reached{.others = std::vector<Version>(map_.server_groups() - 1), .own_values = true};
  const auto done = [&](std::uint32_t worker) {
    return std::max(ends_.steps.begun.steps[worker], ends_.memory.vitals(worker).steps.load(std::memory_order_acquire));
  };
  for (std::uint32_t worker = 0; worker < map_.workers(); ++worker) reached.steps.push_back(done(worker));
  for (std::uint32_t group = 0; exchange_.by_step && group < map_.groups(); ++group) {
    std::uint64_t steps = reached.of_group(group, place().workers);
    if (!undecided_.empty()) steps = std::min(steps, undecided_[group]);
    std::fill_n(reached.steps.begin() + group * place().workers, place().workers, steps);
  }
  undecided_.clear();
  for (const param::Slice& slice : ends_.slices().all()) {
    auto& there = reached.slices.emplace_back(
        param::StartPoint::OfSlice{.version = ends_.table->version(slice.id), .steps = reached.steps, .others = {}});
    for (std::uint32_t worker = 0; worker < map_.workers(); ++worker)
      there.steps[worker] = std::max(there.steps[worker], ends_.steps.begun.steps_of(slice.id)[worker]);
    for (std::uint32_t group = 1; group < map_.server_groups(); ++group)
      there.others.push_back(!alignment_.any() ? ends_.steps.reached.version_of(slice.id, group)
                                               : alignment_.of(group, slice.id).version);
  }
  lost_.count_in(reached);
  reached.sum_up();
  if (!exchange_.has_servers())
    reached.version = reached.of_group(0, place().workers); // as many as servers would have made
  ends_.steps.reached = std::move(reached);
  return {};
}

} // namespace dlhost::run
