#include "run/membership/task_address_book.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds look_at_tasks = 1'000'000'000;

} // namespace

template <class Ready> Status TaskAddressBook::await(Ready ready, const Meanwhile& meanwhile) {
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

Status TaskAddressBook::put(std::uint32_t seat, Contact contact) {
  {
    const std::scoped_lock lock(guard_);
    contacts_.at(seat) = std::move(contact);
  }
  changed_->notify_all();
  return {};
}

Result<Contact> TaskAddressBook::contact(std::uint32_t seat) {
  DLHOST_TRY(await([&] { return contacts_.at(seat).has_value(); }));
  const std::scoped_lock lock(guard_);
  return *contacts_[seat];
}

Status TaskAddressBook::begin(const param::StartPoint& beginning) {
  {
    const std::scoped_lock lock(guard_);
    begun_ = beginning;
  }
  changed_->notify_all();
  return {};
}

Result<param::StartPoint> TaskAddressBook::begun() {
  DLHOST_TRY(await([&] { return begun_.has_value(); }));
  const std::scoped_lock lock(guard_);
  return *begun_;
}

Status TaskAddressBook::meet(std::uint32_t, const Meanwhile& meanwhile) {
  std::uint32_t all = 0;
  {
    const std::scoped_lock lock(guard_);
    all = (met_ / workers() + 1) * workers();
    ++met_;
  }
  changed_->notify_all();
  return await([&] { return met_ >= all; }, meanwhile);
}

Status TaskAddressBook::failure() {
  const std::scoped_lock lock(guard_);
  return failed_;
}

void TaskAddressBook::fail(const Status& status) {
  {
    const std::scoped_lock lock(guard_);
    if (failed_.ok()) failed_ = status;
  }
  changed_->notify_all();
}

} // namespace dlhost::run
