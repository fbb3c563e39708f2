#include "run/worker/liveness.h"

#include <algorithm>
#include <utility>

#include <dlhost/host.h>

#include "env/process/usage.h"
#include "run/worker/silence.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds shortest_silence = 10 * one_second;
constexpr Nanoseconds steps_in_silence = 10;
constexpr Nanoseconds shortest_look = one_second / 50;
constexpr Nanoseconds longest_look = one_second / 5; // a process that was stopped has not looked meanwhile
constexpr Nanoseconds times_when_away = 60;
constexpr Nanoseconds show_again = one_second / 10; // interval of showing the vitals to other machines

using Groups = plan::Exchange::Groups;

} // namespace

void Liveness::begin() {
  begun_at_ = step_at_ = ends_.session.host().clock().now();
  steps_seen_ = steps();
  each_step_.clear();
  for (std::uint32_t worker = 0; worker < ends_.layout.map.workers(); ++worker)
    each_step_.push_back(ends_.layout.table.freight(ends_.session.store(), ends_.slices(), worker));
}

void Liveness::beat(bool shows) {
  Vitals& mine = ends_.memory.vitals(ends_.number);
  if (std::exchange(steps_seen_, steps()) != steps()) step_at_ = ends_.session.host().clock().now();
  mine.steps.store(steps(), std::memory_order_relaxed);
  mine.beats.store(mine.beats.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  mine.awaits.store(awaited(), std::memory_order_relaxed);
  if (ends_.slices().size() > 0) mine.read.store(ends_.table->version(0), std::memory_order_relaxed);
  if (ends_.shard) mine.made.store(ends_.shard->version(), std::memory_order_relaxed);
  mine.show(ends_.post->freight());
  if (shows && ends_.has_far()) show_vitals();
  if (!ends_.layout.exchange.may_be_late) return;
  if (ends_.chooser)
    mine.show(ends_.chooser->arrivals());
  else if (ends_.shard)
    mine.show(ends_.shard->arrivals());
}

// If the worker waits for its own server, this is what that server waits for.
Awaited Liveness::awaited() const {
  using What = Awaited::What;
  const Awaited& waits = ends_.waits.now();
  const bool of_all = waits.what == What::answers; // a worker that is held in the middle of a step may wait for both
  const std::size_t param = of_all ? param::Table::no_param : ends_.table->awaited();
  const bool of_param = param != param::Table::no_param;
  if (!of_all && (!of_param || waits.what != What::nothing)) return waits;
  const param::Slice* slice = ends_.table->unanswered(param);
  const bool known = slice && ends_.layout.exchange.groups != Groups::contributions; // else a server of any group
  const std::uint32_t server = known ? ends_.home() + slice->server : Awaited::nobody;
  Awaited awaited = Waits::on(of_param ? What::param : What::answers, server);
  if (of_param) awaited.param = static_cast<std::uint32_t>(param);
  if (!of_param || server != ends_.number) return awaited;
  const param::Shard::MissingContribution lack = ends_.shard->lack(slice->id);
  awaited.seat = Waits::on(What::param, lack.seat.value_or(Awaited::nobody)).seat;
  using Lacks = param::Shard::MissingContribution::What;
  switch (lack.what) {
  case Lacks::contribution: awaited.what = What::contribution; break;
  case Lacks::norm: awaited.what = What::norm; break;
  case Lacks::sum: awaited.what = What::sum; break;
  case Lacks::exchange: awaited.what = What::exchange; break;
  }
  return awaited;
}

// As the other worker shows it, or did before it hung.
std::string Liveness::awaited_by(std::uint32_t worker) const {
  const Vitals& shown = ends_.memory.vitals(worker);
  Awaited awaited = shown.awaits.load(std::memory_order_relaxed);
  if (worker != 0 && shown.away.load(std::memory_order_relaxed)) awaited = {.what = Awaited::What::input};
  const auto& params = ends_.session.store().params();
  const auto& transfers = ends_.lent.transfers;
  if (awaited.is_of_transfer())
    return in_words(awaited, awaited.param < transfers.size() ? transfers[awaited.param] : std::string());
  return in_words(awaited, awaited.param < params.size() ? params[awaited.param]->declared.name : std::string());
}

void Liveness::set_away(bool away) {
  Vitals& mine = ends_.memory.vitals(ends_.number);
  mine.away.store(away, std::memory_order_relaxed);
  mine.awaits.store(ends_.waits.now(), std::memory_order_relaxed); // what it waited for before has come
}

// The mean step is that of the steps made: a wait for a worker that hangs must not lengthen its own limit.
Nanoseconds Liveness::longest_silence() const {
  const double given = ends_.session.job().recovery.silence;
  if (given > 0) return given < longest_seconds ? static_cast<Nanoseconds>(given * 1e9) : 0;
  const param::StartPoint& begun = ends_.steps.begun;
  if (begun.steps.empty()) return before_the_first_step;
  const plan::Place& place = ends_.layout.place;
  const std::uint64_t made = steps() - begun.of_group(place.group, place.workers);
  if (made == 0) return before_the_first_step;
  return std::max(shortest_silence, steps_in_silence * ((step_at_ - begun_at_) / static_cast<Nanoseconds>(made)));
}

bool Liveness::hangs(std::uint32_t worker, Nanoseconds limit) {
  Silence& silence = silences_[worker];
  const Vitals& shown = ends_.memory.vitals(worker);
  const std::uint64_t beats = shown.beats.load(std::memory_order_relaxed);
  if (beats != silence.beats) silence = {.beats = beats};
  return silence.lasts > (shown.away.load(std::memory_order_relaxed) ? times_when_away * limit : limit);
}

void Liveness::say_alive(Nanoseconds now) {
  if (std::exchange(alive_at_, steps()) != steps()) says_alive_ = now + (alive_pause_ = one_second);
  if (now < says_alive_) return;
  says_alive_ = now + (alive_pause_ *= 2);
  for (std::uint32_t worker = 0; worker < ends_.layout.map.workers(); ++worker)
    if (worker != ends_.number)
      ends_.send(worker, param::to_worker::Alive()).ignore("a worker that needs a lost one reports it");
}

// Time counts only as far as this worker looks: a whole run may be stopped for a while, and go on.
Status Liveness::watch() {
  const Nanoseconds now = ends_.session.host().clock().now();
  if (now - looked_ < shortest_look) return {};
  say_alive(now);
  const Nanoseconds passed = std::min(now - std::exchange(looked_, now), longest_look);
  const Nanoseconds limit = longest_silence();
  if (limit == 0) return {};
  for (std::uint32_t worker = 0; worker < ends_.layout.map.workers(); ++worker) {
    if (worker == ends_.number || lost_.is_lost(worker)) continue;
    silences_[worker].lasts += passed;
    if (hangs(worker, limit) && !std::exchange(silences_[worker].told, true)) end_hanging(worker);
  }
  return {};
}

void Liveness::end_hanging(std::uint32_t worker) {
  const Vitals& shown = ends_.memory.vitals(worker);
  const std::string awaits = awaited_by(worker);
  const bool leads = worker == 0 && shown.away.load(std::memory_order_relaxed);
  const std::string does = leads            ? "reads its input, evaluates or saves"
                           : awaits.empty() ? "computes"
                                            : "waits for " + awaits;
  ends_.session.host().log().write(LogLevel::warning,
                                   concat("worker ", worker, " hangs: it has shown no life for ",
                                          static_cast<double>(silences_[worker].lasts / (one_second / 10)) / 10,
                                          " s in step ", shown.steps.load(std::memory_order_relaxed), ", where it ",
                                          does, "; a longer recovery.timeout gives it more time"));
  ends_.address_book.end(worker);
}

void Liveness::show_at_once() {
  showed_ = 0;
  show_vitals();
}

void Liveness::show_vitals() {
  const Nanoseconds now = ends_.session.host().clock().now();
  if (now - showed_ < show_again) return;
  showed_ = now;
  for (std::uint32_t worker = 0; worker < ends_.layout.map.workers(); ++worker)
    if (ends_.post->is_far(worker) && ends_.post->shown_to(worker))
      ends_.post->show(ends_.memory.shown(worker, ends_.memory.places().vitals, sizeof(Vitals), record::Cargo::control))
          .ignore("the worker that waits for a lost process reports it");
}

// Mirrors are memory of this process alone.
void Liveness::show_memory() {
  Vitals& shown = ends_.memory.vitals(ends_.number);
  if (ends_.address_book.is_of_processes()) shown.own_bytes.store(env::peak_private_bytes(), std::memory_order_relaxed);
  const std::size_t lent =
      ends_.memory.places().bytes + (ends_.memory.made_masters() ? ends_.memory.masters().bytes() : 0);
  shown.lent_bytes.store(ends_.near ? lent : 0, std::memory_order_relaxed);
}

// Others go on while this worker looks: a worker's version may be newer than its server's of a moment ago.
std::uint64_t Liveness::staleness_of(std::uint32_t worker) const {
  const plan::WorkerMap& map = ends_.layout.map;
  if (ends_.slices().size() == 0) return 0;
  const std::uint32_t server = map.home_of(map.server_group_of(worker)) + ends_.slices()[0].server;
  const Version read = ends_.memory.vitals(worker).read.load(std::memory_order_relaxed);
  return std::max(read, ends_.memory.vitals(server).made.load(std::memory_order_relaxed)) - read;
}

// Small nets have fewer slices than there are servers.
bool Liveness::makes_versions(std::uint32_t worker) const {
  const plan::WorkerMap& map = ends_.layout.map;
  const std::uint32_t server = worker - map.home_of(map.server_group_of(worker));
  return std::ranges::find(ends_.slices().all(), server, &param::Slice::server) != ends_.slices().all().end();
}

std::vector<record::WorkerReport> Liveness::reports() const {
  std::vector<record::WorkerReport> all;
  const param::StartPoint& begun = ends_.steps.begun;
  for (std::uint32_t worker = 0; worker < ends_.layout.map.workers(); ++worker) {
    const Vitals& shown = ends_.memory.vitals(worker);
    const StepTimes times = shown.times();
    const auto seconds = [](Nanoseconds time) { return static_cast<double>(time) * 1e-9; };
    const std::uint64_t at = shown.steps.load(std::memory_order_relaxed);
    const std::uint64_t began = begun.steps.empty() ? 0 : begun.steps[worker];
    all.push_back({.steps = at - std::min(at, began),
                   .seconds = seconds(times.all),
                   .input = seconds(times.input),
                   .params = seconds(times.params),
                   .serving = seconds(times.serving),
                   .waiting = seconds(times.waiting),
                   .network = shown.freight(),
                   .each_step = worker < each_step_.size() ? each_step_[worker] : std::nullopt, // not begun
                   .own_bytes = shown.own_bytes.load(std::memory_order_relaxed),
                   .lent_bytes = shown.lent_bytes.load(std::memory_order_relaxed),
                   .awaits = awaited_by(worker),
                   .at = at,
                   .stale = staleness_of(worker)});
    if (makes_versions(worker)) all.back().made = shown.made.load(std::memory_order_relaxed);
  }
  return all;
}

} // namespace dlhost::run
