// The roster of workers that are tasks of one process.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <dlhost/host.h>

#include "run/membership/roster.h"

namespace dlhost::run {

class TaskRoster final : public Roster {
 public:
  TaskRoster(Tasks& tasks, std::vector<std::uint32_t> machines)
      : machines_(std::move(machines)), cards_(machines_.size()), changed_(tasks.waiter()) {}

  const std::vector<std::uint32_t>& machines() const override { return machines_; }
  std::span<const std::byte> secret() const override { return {}; }
  std::uint32_t epoch() const override { return 0; } // constant, because its tasks end with it
  std::string host_name() const override { return {}; }
  Status put(std::uint32_t seat, Card) override;
  Result<Card> card(std::uint32_t seat) override;
  Status begin(const param::Beginning&) override;
  Result<param::Beginning> begun() override;
  using Roster::meet;
  Status meet(std::uint32_t seat, const Meanwhile&) override;
  void end(std::uint32_t) override {} // a task cannot be ended
  void fail(const Status&) override;
  Status failure() override;

 private:
  template <class Ready> Status await(Ready, const Meanwhile& = nullptr);

  const std::vector<std::uint32_t> machines_;
  std::mutex guard_;
  std::vector<std::optional<Card>> cards_;
  std::optional<param::Beginning> begun_;
  std::uint32_t met_ = 0;
  Status failed_;
  std::unique_ptr<Waiter> changed_;
};

} // namespace dlhost::run
