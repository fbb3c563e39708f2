#include "run/membership/task_roster.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds look_at_tasks = 1'000'000'000;

} // namespace

template <class Ready> Status TaskRoster::await(Ready ready, const Meanwhile& meanwhile) {
  while (true) {
    const std::uint64_t ticket = changed_->ticket();
    {
      const std::scoped_lock lock(guard_);
      if (!failed_.ok()) return failed_;
      if (ready()) return {};
    }
    if (meanwhile) DLHOST_TRY(meanwhile());
    changed_->wait(ticket, look_at_tasks);
  }
}

Status TaskRoster::put(std::uint32_t seat, Card card) {
  {
    const std::scoped_lock lock(guard_);
    cards_.at(seat) = std::move(card);
  }
  changed_->notify_all();
  return {};
}

Result<Card> TaskRoster::card(std::uint32_t seat) {
  DLHOST_TRY(await([&] { return cards_.at(seat).has_value(); }));
  const std::scoped_lock lock(guard_);
  return *cards_[seat];
}

Status TaskRoster::begin(const param::Beginning& beginning) {
  {
    const std::scoped_lock lock(guard_);
    begun_ = beginning;
  }
  changed_->notify_all();
  return {};
}

Result<param::Beginning> TaskRoster::begun() {
  DLHOST_TRY(await([&] { return begun_.has_value(); }));
  const std::scoped_lock lock(guard_);
  return *begun_;
}

Status TaskRoster::meet(std::uint32_t, const Meanwhile& meanwhile) {
  std::uint32_t all = 0;
  {
    const std::scoped_lock lock(guard_);
    all = (met_ / seats() + 1) * seats();
    ++met_;
  }
  changed_->notify_all();
  return await([&] { return met_ >= all; }, meanwhile);
}

Status TaskRoster::failure() {
  const std::scoped_lock lock(guard_);
  return failed_;
}

void TaskRoster::fail(const Status& status) {
  {
    const std::scoped_lock lock(guard_);
    if (failed_.ok()) failed_ = status;
  }
  changed_->notify_all();
}

} // namespace dlhost::run
