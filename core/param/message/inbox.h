// Opens the messages that arrive at a task: drops those of another attempt of the run, checks the sequence numbers of
// each sender, and copies enclosed bytes into the task's mirrors. Input is untrusted. Thread: the task's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "param/message/bundle.h"
#include "param/message/protocol.h"

namespace dlhost::param {

class Inbox {
 public:
  // `epoch`: the attempt of the run.
  Inbox(std::uint32_t seat, std::uint32_t epoch, std::size_t seats) : seat_(seat), epoch_(epoch), heard_(seats) {}

  // Registers a mirror of this task under its number.
  void know(std::uint32_t number, std::span<std::byte> mirror);
  // A seat has a new process, whose messages are numbered anew.
  void restart(std::uint32_t seat) { heard_[seat] = 0; }

  enum class Finding : std::uint8_t {
    valid,
    dropped, // a repeated message, or one of another attempt
    missing, // messages before it were lost
  };
  // Sets the message, if it is valid. Errors: it is malformed.
  Result<Finding> open(const BundleReader::Entry&, std::uint32_t from, Message&);
  // The number of messages that were dropped because they are of other attempts.
  std::uint64_t stale() const { return stale_; }

 private:
  Status copy(const Attachment&, std::uint32_t from);

  const std::uint32_t seat_, epoch_;
  std::vector<std::uint16_t> heard_;          // per seat: messages received from it
  std::vector<std::span<std::byte>> mirrors_; // by number
  std::uint64_t stale_ = 0;
};

} // namespace dlhost::param
