#include "run/worker/lost_leader.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dlhost::run {
namespace {

constexpr Nanoseconds between_leaders = 10'000'000;
constexpr Nanoseconds longest_without = 5'000'000'000; // any process that leads, or prepares to
constexpr Nanoseconds longest_end = 5'000'000'000;

} // namespace

Status LostLeader::look() {
  if (!lost_.is_lost(param::leading_seat)) return losses_ == lost_.count() ? Status() : answer_again();
  const Nanoseconds now = ends_.session.host().clock().now();
  if (!leaderless_) leaderless_ = Leaderless{.since = now, .led = now, .steps = ends_.steps.done[ends_.number]};
  go_on_without();
  if (now < leaderless_->next_look) return {};
  leaderless_->next_look = now + between_leaders;
  Admissions& admissions = *ends_.address_book.admissions();
  DLHOST_ASSIGN(const std::uint32_t number, admissions.leads_now());
  if (number > lost_.number_of(0)) return follow(number);
  DLHOST_ASSIGN(const bool is_led, admissions.is_led());
  if (is_led) leaderless_->led = now;
  if (now - leaderless_->led < longest_without) return {};
  return Status::gone("worker 0 is gone, and no other process leads the run");
}

// The lost leader may have ordered this worker to stand still, for an evaluation. The new one gives orders of its own.
void LostLeader::go_on_without() {
  if (orders_.leader != param::leading_seat) return;
  orders_.holder.reset();
  orders_.resting = false;
}

// The new processes may be lost too, and the next leader removes their contacts: then this worker looks again. The new
// leader has not heard yet which workers are lost, and which steps are made.
Status LostLeader::follow(std::uint32_t number) {
  Admissions& admissions = *ends_.address_book.admissions();
  std::vector<Contact> contacts;
  for (const std::uint32_t worker : ends_.layout.map.workers_of(0)) {
    auto contact = admissions.has_come(worker) ? ends_.address_book.contact(worker) : Status::not_found("no contact");
    if (!contact.ok()) return {};
    contacts.push_back(*std::move(contact));
  }
  Survival survival = lost_.survival(); // as long as it sees the memory of those that are gone
  DLHOST_TRY(lost_.take_in(0, number, number, contacts));
  if (lost_.is_lost(param::leading_seat)) return {};
  admissions.follow();
  DLHOST_TRY(answer(std::move(survival)));
  DLHOST_TRY(lost_.tell_lost());
  const std::uint64_t done = ends_.steps.done[ends_.number];
  if (ends_.layout.place.rank > 0 || done == 0) return {};
  return ends_.send(param::leading_seat, param::to_worker::Done{.step = done - 1});
}

Status LostLeader::answer(Survival survival) {
  const Leaderless leaderless = *std::exchange(leaderless_, std::nullopt);
  if (ends_.shard) survival.times_aligned = ends_.shard->times_aligned();
  survival.lost_at = leaderless.since;
  survival.steps_before = leaderless.steps;
  survival.rests = orders_.resting;
  losses_ = lost_.count();
  survival_ = std::move(survival);
  return ends_.address_book.admissions()->survive(static_cast<std::uint32_t>(lost_.number_of(0)), ends_.number,
                                                  survival_);
}

// The new leader may still be waiting for that.
Status LostLeader::answer_again() {
  losses_ = lost_.count();
  if (survival_.seen.empty()) return {}; // it has never answered
  lost_.add_lost(survival_);
  return ends_.address_book.admissions()->survive(static_cast<std::uint32_t>(lost_.number_of(0)), ends_.number,
                                                  survival_);
}

void LostLeader::await_end() {
  if (!ends_.table) return;
  Clock& clock = ends_.session.host().clock();
  const Nanoseconds end = clock.now() + longest_end;
  const auto leads = [&] { return std::ranges::find(ends_.post->gone(), 0U) == ends_.post->gone().end(); };
  while (!orders_.stopped && ends_.address_book.failure().ok() && leads() && clock.now() < end)
    ends_.table->progress(between_leaders).ignore("more may go, now that one has");
}

} // namespace dlhost::run
