// What this worker and the others of its group lend each other in a step, if the net is divided among them: boxes of
// features and gradients in each one's own memory, and messages that say when they are made and read.
//
// A worker that waits here processes messages, and pauses if it is asked to. Thread: the worker's. Does not allocate
// after lay_out().
#pragma once

#include <cstdint>
#include <vector>

#include "program/box_exchange.h"
#include "run/worker/worker_ends.h"

namespace dlhost::run {

class Loans final : public program::BoxExchange {
 public:
  explicit Loans(WorkerEnds& ends) : ends_(ends) {}

  void lay_out(program::LentMemory) override;
  std::span<std::byte> own() override { return ends_.memory.lent_by(ends_.number); }
  Status begin_step(std::uint64_t step) override;
  Status lend(std::uint32_t transfer, std::span<const std::uint32_t> to) override;
  Result<const std::byte*> wait(std::uint32_t transfer, std::uint32_t worker) override;
  Status give_back(std::uint32_t transfer, std::uint32_t worker) override;

  // Errors: corrupt if the message is of no transfer of the group, or of a step that is over.
  Status hear_lent(std::uint32_t from, const param::to_worker::Lent&);
  Status hear_returned(std::uint32_t from, const param::to_worker::Returned&);

 private:
  struct Transfer {
    std::uint64_t lent = 0;  // by another worker to this one: the number of steps up to the last in which it was
    std::uint64_t until = 0; // by this one to another: the same; it is read if `read` is the same number
    std::uint64_t read = 0;
  };
  std::uint32_t number_of(std::uint32_t rank) const {
    return ends_.layout.place.group * ends_.layout.place.workers + rank;
  }
  Transfer& at(std::uint32_t transfer, std::uint32_t rank) {
    return transfers_[transfer * ends_.layout.place.workers + rank];
  }
  // Errors: corrupt if the sender or the transfer is unknown.
  Result<Transfer*> find(std::uint32_t from, std::uint32_t transfer, const char* says);
  Status wrong(std::uint32_t from, std::uint32_t transfer, std::uint64_t step, const char* why) const;
  Status send(std::uint32_t rank, const param::Body&);

  WorkerEnds& ends_;
  std::vector<Transfer> transfers_; // by transfer and rank
  std::uint32_t unread_ = 0;        // loans of this worker
  std::uint64_t step_ = 0;
};

} // namespace dlhost::run
