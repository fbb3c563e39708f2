// From step to step: what leaders say, and what the others answer.
#include <algorithm>
#include <utility>

#include "run/worker/orders.h"
#include "run/worker/seat.h"

namespace dlhost::run {

using param::Message;
using param::Word;

Status Seat::take(const Message& message) {
  if (message.seat >= seats_) return Status::corrupt("a message of seat ", message.seat, ", which there is not");
  if (!Orders{leads() ? param::leading_seat : leader_}.may_come(message.word, message.seat))
    return Status::corrupt("worker ", message.seat, " says what worker ", number_, " is told by others alone");
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
  case Word::stop: // in the midst of a step, what it waits for will not come
    stopped_ = true;
    return computing_ ? Status::cancelled("stopped by the leader") : Status();
  case Word::done: done_[message.seat] = std::max(done_[message.seat], message.step + 1); return {};
  case Word::idle:
    done_[message.seat] = std::max(done_[message.seat], message.step);
    idle_[message.seat] = true;
    return {};
  case Word::failed: { // it is over for all
    stopped_ = true;
    const auto said = words(message.seat);
    const std::string reason(said.data(), static_cast<std::size_t>(std::ranges::find(said, '\0') - said.begin()));
    const auto code =
        message.step <= static_cast<std::uint64_t>(Code::internal) ? static_cast<Code>(message.step) : Code::internal;
    return Status(code, concat("worker ", message.seat, ": ", reason));
  }
  case Word::alive: return {};
  case Word::undecided:
    if (unanswered_ == 0 || message.group >= place_.groups ||
        message.seat != home_of(server_group_of(message.group * place_.workers)))
      return Status::corrupt("seat ", message.seat, " says what is undecided of group ", message.group,
                             ", which nobody asked it");
    --unanswered_;
    undecided_[message.group] = message.step;
    return {};
  case Word::attested: return hear_attested(message);
  case Word::lost: return hear_lost(message);
  case Word::join: return hear_join(message);
  case Word::joined: return hear_joined(message);
  case Word::aligned: {
    const std::uint32_t group = server_group_of(message.seat);
    if (mends() && message.samples.first != times_aligned_) return {}; // all were asked again since
    if (unaligned_ == 0 || message.slice >= memory_->slices.size() ||
        message.seat - home_of(group) != memory_->slices[message.slice].server ||
        message.place >= lent_masters().values(memory_->slices[message.slice].param))
      return Status::corrupt("seat ", message.seat, " has aligned slice ", message.slice, ", which nobody waits for");
    --unaligned_;
    aligned_[group][message.slice] = {message.version, message.place, message.step};
    return {};
  }
  default: return Status::corrupt("a word that is not for this seat");
  }
}

// Who can be told is told, whoever else is gone.
Status Seat::tell(std::span<const std::uint32_t> seats, const Message& message) {
  Status first;
  for (const std::uint32_t seat : seats) {
    Status status = table_->send(seat, message);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status Seat::go(std::uint64_t step, double rate) {
  vitals(number_).told.store(step, std::memory_order_release);
  return tell(led_, {.word = Word::go, .step = step, .rate = rate});
}

Status Seat::gather(std::uint64_t step, std::vector<program::Metric>& metrics) {
  done_[number_] = step + 1; // all of it is sent, whoever wants it to stand still now
  DLHOST_TRY(table_->attend_until(
      [&] { return all_of(led_, Awaited::What::parts, [&](std::uint32_t seat) { return done_[seat] > step; }); }));
  for (const std::uint32_t seat : led_)
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      metrics[m].last_sum += numbers(seat)[2 * m];
      metrics[m].last_count += numbers(seat)[2 * m + 1];
    }
  return {};
}

Status Seat::rest_those_led() {
  std::vector<std::uint32_t> held = led_;
  // Before their first step they stand still, and those of other machines have not shown with what.
  const bool first = far_ && number_ == 0 && !exchange_.in_step && !std::exchange(held_, true);
  if (std::exchange(others_free_, false) || first)
    for (std::uint32_t group = 1; group < place_.groups; ++group) held.push_back(group * place_.workers);
  for (const std::uint32_t seat : held) idle_[seat] = false;
  DLHOST_TRY(tell(held, {.word = Word::hold}));
  const auto rests = [&](std::uint32_t seat) { return idle_[seat] || has_lost(server_group_of(seat)); };
  return table_->wait_until([&] { return all_of(held, Awaited::What::rest, rests); });
}

Status Seat::hold() {
  // A group that is being let in comes to its first step before.
  DLHOST_TRY(table_->wait_until([this] { return is_over(!admission_, on(Awaited::What::rest, Awaited::nobody)); }));
  holds_ = true;
  // Others go on meanwhile: whether this one's last step counts is as good as decided by them.
  if (exchange_.chooses_steps) DLHOST_TRY(until_answered(&param::Table::receive));
  DLHOST_TRY(rest_those_led());
  DLHOST_TRY(until_answered(&param::Table::flush));
  show_memory();
  if (exchange_.chooses_steps) DLHOST_TRY(ask_what_is_undecided());
  if (exchange_.groups != Groups::one || exchange_.folds) DLHOST_TRY(align());
  return see_where_all_are();
}

// Stands still until it is told to go on; those whom it leads as well. It may be asked again meanwhile.
Status Seat::attend() {
  for (resting_ = true; calls() && resting_ && !stopped_;) {
    const std::uint32_t holder = *std::exchange(holder_, std::nullopt);
    DLHOST_TRY(rest_those_led());
    DLHOST_TRY(until_answered(&param::Table::flush));
    DLHOST_TRY(until_answered(&param::Table::settle));
    DLHOST_TRY(leave_states());
    show_memory();
    DLHOST_TRY(show_rest());
    DLHOST_TRY(table_->send(holder, {.word = Word::idle, .step = done_by_all()}));
    DLHOST_TRY(
        table_->wait_until([&] { return is_over(!resting_ || stopped_ || calls(), on(Awaited::What::word, holder)); }));
    if (!stopped_) DLHOST_TRY(land_states());
  }
  if (!stopped_)
    DLHOST_TRY(tell(led_, {.word = Word::free, .step = free_until_})); // some may be in the midst of a step
  return stopped_ && computing_ ? Status::cancelled("stopped by the leader") : Status();
}

// One that leads may wait in a step that it has made for those who have yet to make it.
std::uint64_t Seat::done_by_all() const {
  std::uint64_t done = done_[number_];
  for (const std::uint32_t seat : led_) done = std::min(done, done_[seat]);
  return done;
}

Status Seat::stop() {
  std::vector<std::uint32_t> all = led_;
  if (number_ == 0)
    for (std::uint32_t seat = 1; seat < seats_; ++seat) all.push_back(seat);
  return tell(all, {.word = Word::stop});
}

// Leaders free those whom they held: held by one and freed by another, a worker could hear of both in the wrong order,
// and go on while it is thought to stand still.
Status Seat::free(std::uint64_t until) {
  holds_ = false;
  until_ = until;
  if (exchange_.in_step || std::exchange(others_free_, true)) return {};
  for (std::uint32_t group = 1; group < place_.groups; ++group)
    if (!has_lost(server_group_of(group * place_.workers)))
      DLHOST_TRY(table_->send(group * place_.workers, {.word = Word::free, .step = until}));
  return {};
}

Status Seat::leave(std::uint32_t group) {
  for (std::uint32_t rank = 0; rank < place_.workers; ++rank)
    DLHOST_TRY(table_->leave(static_cast<std::uint16_t>(group), static_cast<std::uint16_t>(rank)));
  return {};
}

Status Seat::conclude() {
  if (!exchange_.by_step) return {};
  for (std::uint32_t group = place_.first_served + 1; group < place_.first_served + place_.served; ++group)
    DLHOST_TRY(leave(group));
  DLHOST_TRY(until_answered(&param::Table::receive));
  return see_where_all_are();
}

Status Seat::wait_for_groups(std::uint64_t steps) {
  return table_->wait_until([&] {
    for (std::uint32_t group = 1; group < place_.groups; ++group)
      if (const std::uint32_t first = group * place_.workers; done_[first] < steps || has_lost(server_group_of(first)))
        return is_over(false, on(Awaited::What::steps, first));
    return is_over(true, {});
  });
}

Result<std::optional<std::uint64_t>> Seat::freed(std::uint64_t done) {
  computing_ = false;
  done_[number_] = done;
  const auto finished = [&] { return !left_ && free_until_ > 0 && free_until_ <= done; };
  const auto news = [&] {
    return is_over(stopped_ || (!calls() && (free_until_ > done || finished())), on(Awaited::What::step, 0));
  };
  DLHOST_TRY(table_->attend_until(news));
  if (!stopped_ && finished()) {
    left_ = true;
    DLHOST_TRY(until_answered(&param::Table::flush));
    DLHOST_TRY(leave(place_.group));
    DLHOST_TRY(table_->send(0, {.word = Word::done, .step = done - 1}));
    DLHOST_TRY(table_->attend_until(news));
  }
  if (stopped_) return std::optional<std::uint64_t>();
  computing_ = true;
  return std::optional(free_until_);
}

Result<std::optional<Seat::Go>> Seat::next() {
  DLHOST_TRY(
      table_->attend_until([&] { return is_over(stopped_ || (!calls() && go_), on(Awaited::What::step, leader_)); }));
  if (stopped_) return std::optional<Go>();
  computing_ = true;
  return std::exchange(go_, std::nullopt);
}

Status Seat::done(std::uint64_t step, const std::vector<program::Metric>& metrics) {
  const auto numbers = this->numbers(number_);
  if (2 * metrics.size() > numbers.size())
    return Status::unsupported("more than ", numbers.size() / 2, " metrics with several workers");
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    numbers[2 * m] = metrics[m].last_sum;
    numbers[2 * m + 1] = metrics[m].last_count;
  }
  computing_ = false;
  done_[number_] = step + 1;
  return table_->send(leader_, {.word = Word::done, .step = step},
                      shown(leader_, memory_->numbers, 2 * metrics.size() * sizeof(double), record::Cargo::control));
}

void Seat::await_end() {
  if (!table_) return;
  Clock& clock = session_.host().clock();
  const Nanoseconds end = clock.now() + 5'000'000'000;
  const auto leads = [&] { return std::ranges::find(post_->gone(), 0U) == post_->gone().end(); };
  while (!stopped_ && address_book_.failure().ok() && leads() && clock.now() < end)
    table_->progress(10'000'000).ignore("more may go, now that one has");
}

void Seat::fail(const Status& status) {
  if (!table_) return; // nobody listens yet
  const auto said = words(number_);
  const std::string& message = status.message();
  const std::size_t length = std::min(message.size(), said.size() - 1);
  std::ranges::copy_n(message.begin(), static_cast<std::ptrdiff_t>(length), said.begin());
  said[length] = '\0';
  std::vector<std::uint32_t> others;
  for (std::uint32_t seat = 0; seat < seats_; ++seat) {
    if (seat == number_) continue;
    post_->show(shown(seat, memory_->words, length + 1, record::Cargo::control))
        .ignore("who cannot be told notices that this worker is gone");
    others.push_back(seat);
  }
  tell(others, {.word = Word::failed, .step = static_cast<std::uint64_t>(status.code())})
      .ignore("who cannot be told notices that this worker is gone");
  await_sent();
}

} // namespace dlhost::run
