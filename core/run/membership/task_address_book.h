// The addresses of workers that are tasks of one process.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <dlhost/host.h>

#include "run/membership/address_book.h"

namespace dlhost::run {

class TaskAddressBook final : public AddressBook {
 public:
  TaskAddressBook(Tasks& tasks, std::vector<std::uint32_t> machines)
      : machines_(std::move(machines)), contacts_(machines_.size()), changed_(tasks.waiter()) {}

  const std::vector<std::uint32_t>& machines() const override { return machines_; }
  std::span<const std::byte> secret() const override { return {}; }
  std::uint32_t epoch() const override { return 0; } // constant, because its tasks end with it
  std::string host_name() const override { return {}; }
  Status put(std::uint32_t seat, Contact) override;
  Result<Contact> contact(std::uint32_t seat) override;
  Status begin(const param::StartPoint&) override;
  Result<param::StartPoint> begun() override;
  using AddressBook::meet;
  Status meet(std::uint32_t seat, const Meanwhile&) override;
  void end(std::uint32_t) override {} // a task cannot be ended
  void fail(const Status&) override;
  Status failure() override;

 private:
  template <class Ready> Status await(Ready, const Meanwhile& = nullptr);

  const std::vector<std::uint32_t> machines_;
  std::mutex guard_;
  std::vector<std::optional<Contact>> contacts_;
  std::optional<param::StartPoint> begun_;
  std::uint32_t met_ = 0;
  Status failed_;
  std::unique_ptr<Waiter> changed_;
};

} // namespace dlhost::run
