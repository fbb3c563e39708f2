// Signs of life: each worker shows its own, and who waits looks for those of the others. The kernel says who has died;
// this finds who is there and gets nowhere.
#include <algorithm>

#include <dlhost/host.h>

#include "env/process/usage.h"
#include "run/worker/seat.h"
#include "run/worker/silence.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds shortest_silence = 10 * one_second;
constexpr Nanoseconds steps_in_silence = 10;
constexpr Nanoseconds shortest_look = one_second / 50;
constexpr Nanoseconds longest_look = one_second / 5; // who was stopped itself has not looked meanwhile
constexpr Nanoseconds times_when_away = 60;

} // namespace

std::optional<double> Seat::gradient_norm() const {
  return table_->gradient_norm() || !shard_ ? table_->gradient_norm() : shard_->gradient_norm();
}

void Seat::beat() {
  Vitals& mine = vitals(number_);
  mine.steps.store(done_[number_], std::memory_order_relaxed);
  mine.beats.store(mine.beats.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  mine.awaits.store(awaited(), std::memory_order_relaxed);
  if (memory_->slices.size() > 0) mine.read.store(table_->version(0), std::memory_order_relaxed);
  if (shard_) mine.made.store(shard_->version(), std::memory_order_relaxed);
  mine.show(post_->freight());
  if (far_ && put_) show_vitals();
  if (!exchange_.may_be_late) return;
  if (chooser_)
    mine.show(chooser_->arrivals());
  else if (shard_)
    mine.show(shard_->arrivals());
}

// Where the server beside it is what it waits for, whoever that waits for.
Awaited Seat::awaited() const {
  using What = Awaited::What;
  const bool of_all = waits_.what == What::answers; // who is called in the midst of a step may wait for both
  const std::size_t param = of_all ? param::Table::no_param : table_->awaited();
  const bool of_param = param != param::Table::no_param;
  if (!of_all && (!of_param || waits_.what != What::nothing)) return waits_;
  const param::Slice* slice = table_->unanswered(param);
  const bool known = slice && exchange_.groups != Groups::contributions; // else it may be the servers of any group
  const std::uint32_t server = known ? home_of(place_.server_group) + slice->server : Awaited::nobody;
  Awaited awaited = on(of_param ? What::param : What::answers, server);
  if (of_param) awaited.param = static_cast<std::uint32_t>(param);
  if (!of_param || server != number_) return awaited;
  const param::Shard::MissingContribution lack = shard_->lack(slice->id);
  awaited.seat = on(What::param, lack.seat.value_or(Awaited::nobody)).seat;
  using Lacks = param::Shard::MissingContribution::What;
  switch (lack.what) {
  case Lacks::contribution: awaited.what = What::contribution; break;
  case Lacks::norm: awaited.what = What::norm; break;
  case Lacks::sum: awaited.what = What::sum; break;
  case Lacks::exchange: awaited.what = What::exchange; break;
  }
  return awaited;
}

// As another shows it, or did before it hung.
std::string Seat::awaited_by(std::uint32_t seat) const {
  const Vitals& shown = vitals(seat);
  Awaited awaited = shown.awaits.load(std::memory_order_relaxed);
  if (seat != 0 && shown.away.load(std::memory_order_relaxed)) awaited = {.what = Awaited::What::input};
  const auto& params = session_.store().params();
  return in_words(awaited, awaited.param < params.size() ? params[awaited.param]->declared.name : std::string());
}

param::Arrivals Seat::arrivals() const {
  param::Arrivals all;
  for (std::uint32_t seat = 0; seat < seats_; ++seat) all += vitals(seat).arrivals();
  return all;
}

void Seat::set_away(bool away) {
  Vitals& mine = vitals(number_);
  mine.away.store(away, std::memory_order_relaxed);
  mine.awaits.store(waits_, std::memory_order_relaxed); // what it waited for before has come
}

Nanoseconds Seat::longest_silence() const {
  const double given = session_.job().recovery.silence;
  if (given > 0) return given < longest_seconds ? static_cast<Nanoseconds>(given * 1e9) : 0;
  if (begun_.steps.empty()) return before_the_first_step;
  const std::uint64_t steps = done_[number_] - begun_.of_group(place_.group, place_.workers);
  if (steps == 0) return before_the_first_step;
  return std::max(shortest_silence, steps_in_silence * ((looked_ - begun_at_) / static_cast<Nanoseconds>(steps)));
}

bool Seat::hangs(std::uint32_t seat, Nanoseconds limit) {
  Silence& silence = silences_[seat];
  const Vitals& shown = vitals(seat);
  const std::uint64_t beats = shown.beats.load(std::memory_order_relaxed);
  if (beats != silence.beats) silence = {.beats = beats};
  return silence.lasts > (shown.away.load(std::memory_order_relaxed) ? times_when_away * limit : limit);
}

// Who waits for what was lost on its way would wait for ever: it is missed when the next message of its sender comes,
// so that all who wait long send one. The longer they wait, the less often.
void Seat::say_alive(Nanoseconds now) {
  if (std::exchange(alive_at_, done_[number_]) != done_[number_]) says_alive_ = now + (alive_pause_ = one_second);
  if (now < says_alive_) return;
  says_alive_ = now + (alive_pause_ *= 2);
  for (std::uint32_t seat = 0; seat < seats_; ++seat)
    if (seat != number_)
      table_->send(seat, {.word = param::Word::alive}).ignore("who is gone is noticed where it is waited for");
}

Status Seat::see_what_was_lost() {
  say_alive(session_.host().clock().now());
  return table_->progress(0);
}

// Time counts only as far as this one looks: a whole run may be stopped for a while, and go on.
Status Seat::watch() {
  if (look_) DLHOST_TRY(look_());
  const Nanoseconds now = session_.host().clock().now();
  if (now - looked_ < shortest_look) return {};
  say_alive(now);
  const Nanoseconds passed = std::min(now - std::exchange(looked_, now), longest_look);
  const Nanoseconds limit = longest_silence();
  if (limit == 0) return {};
  for (std::uint32_t seat = 0; seat < seats_; ++seat) {
    if (seat == number_ || lost_[seat]) continue;
    silences_[seat].lasts += passed;
    if (!hangs(seat, limit) || std::exchange(silences_[seat].told, true)) continue;
    const Vitals& shown = vitals(seat);
    const std::string awaits = awaited_by(seat);
    const bool leads = seat == 0 && shown.away.load(std::memory_order_relaxed);
    const std::string does = leads            ? "reads its input, evaluates or saves"
                             : awaits.empty() ? "computes"
                                              : "waits for " + awaits;
    session_.host().log().write(LogLevel::warning,
                                concat("worker ", seat, " hangs: it has shown no life for ",
                                       static_cast<double>(silences_[seat].lasts / (one_second / 10)) / 10,
                                       " s in step ", shown.steps.load(std::memory_order_relaxed), ", where it ", does,
                                       "; a longer recovery.timeout gives it more time"));
    address_book_.end(seat);
  }
  return {};
}

// Others go on while they are looked at: what one has may be newer than what its server had a moment ago.
std::uint64_t Seat::staleness_of(std::uint32_t seat) const {
  if (memory_->slices.size() == 0) return 0;
  const std::uint32_t server = home_of(server_group_of(seat)) + memory_->slices[0].server;
  const Version read = vitals(seat).read.load(std::memory_order_relaxed);
  return std::max(read, vitals(server).made.load(std::memory_order_relaxed)) - read;
}

// Small nets have fewer slices than there are servers.
bool Seat::makes_versions(std::uint32_t seat) const {
  const std::uint32_t server = seat - home_of(server_group_of(seat));
  return std::ranges::find(memory_->slices.all(), server, &param::Slice::server) != memory_->slices.all().end();
}

// Mirrors of what lies on other machines are memory of this process alone.
void Seat::show_memory() {
  Vitals& shown = vitals(number_);
  if (address_book_.is_of_processes()) shown.own_bytes.store(env::peak_private_bytes(), std::memory_order_relaxed);
  const bool made_masters = number_ == remote_masters_of(place_.server_group, machine());
  const std::size_t lent = memory_->bytes + (made_masters ? lent_masters().bytes() : 0);
  shown.lent_bytes.store(transport_ ? lent : 0, std::memory_order_relaxed);
}

std::vector<record::WorkerReport> Seat::reports() const {
  std::vector<record::WorkerReport> all;
  for (std::uint32_t seat = 0; seat < seats_; ++seat) {
    const Vitals& shown = vitals(seat);
    const StepTimes times = shown.times();
    const auto seconds = [](Nanoseconds time) { return static_cast<double>(time) * 1e-9; };
    const std::uint64_t at = shown.steps.load(std::memory_order_relaxed);
    const std::uint64_t began = begun_.steps.empty() ? 0 : begun_.steps[seat];
    all.push_back({.steps = at - std::min(at, began),
                   .seconds = seconds(times.all),
                   .input = seconds(times.input),
                   .params = seconds(times.params),
                   .serving = seconds(times.serving),
                   .waiting = seconds(times.waiting),
                   .network = shown.freight(),
                   .each_step = foreseen_[seat],
                   .own_bytes = shown.own_bytes.load(std::memory_order_relaxed),
                   .lent_bytes = shown.lent_bytes.load(std::memory_order_relaxed),
                   .awaits = awaited_by(seat),
                   .at = at,
                   .stale = staleness_of(seat)});
    if (makes_versions(seat)) all.back().made = shown.made.load(std::memory_order_relaxed);
  }
  return all;
}

} // namespace dlhost::run
