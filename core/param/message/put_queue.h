// The puts of a task to one machine: those that wait for a transport, and those that are under way.
//
// Order: of the puts that wait, those of lower rank go first; puts of one rank go in the order of their numbers.
// Flow control: the bytes under way are limited to those that the link carries in a while, by its measured speed.
// Thread: the task's. Does not allocate once its queues have their largest size.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <boost/circular_buffer.hpp>

#include <dlhost/host.h>

#include "param/message/remote_copy.h"

namespace dlhost::param {

class PutQueue {
 public:
  struct Put {
    std::span<const std::byte> here;
    const RemoteCopy* there = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t number = 0; // sequence number for the machine, from 1
    std::int64_t rank = 0;    // puts of lower rank go first
  };
  // `most_under_way`: bytes; a single put may be larger. `credit`: the puts for which there is memory at first.
  PutQueue(Clock& clock, std::size_t credit, std::size_t most_under_way);

  // Adds a put and returns its number.
  std::uint64_t add(std::span<const std::byte> here, const RemoteCopy& there, std::uint64_t offset, std::int64_t rank);
  bool is_waiting() const { return !waiting_.empty(); }
  // The place of the put to hand to the transport next. None: no put waits, or there is no room for it under way.
  std::optional<std::size_t> next() const;
  const Put& waiting(std::size_t place) const { return waiting_[place]; }
  // The transport has taken this put.
  void start(std::size_t place);
  // A put has arrived, or has failed. Puts may arrive in any order.
  void finish(std::uint64_t number);
  // The machine's receiver is gone: no put waits or is under way any more.
  void clear();

  std::uint64_t last() const { return puts_; }
  bool all_done() const { return puts_done_ == puts_; }
  // True if the put has arrived, or will arrive before a message that the seat is sent now. `in_order`: the transport
  // delivers a message after the puts before it.
  bool is_past(std::uint64_t number, std::uint32_t seat, bool in_order) const;
  // The same for all puts up to this number.
  bool are_past(std::uint64_t number, std::uint32_t seat, bool in_order) const;

 private:
  struct State {
    enum class Stage : std::uint8_t { waits, on_its_way, there } stage = Stage::waits;
    std::uint32_t seat = 0;
    std::size_t bytes = 0;
  };
  State& state(std::uint64_t number) { return states_[number - puts_done_ - 1]; }
  void measure(std::size_t bytes);

  Clock& clock_;
  const std::size_t most_;                 // bytes under way, at any speed
  boost::circular_buffer<Put> waiting_;    // puts that the transport has yet to take
  std::uint64_t puts_ = 0, puts_done_ = 0; // number of the last put; all puts up to this number have arrived
  boost::circular_buffer<State> states_;   // of the puts after puts_done_
  std::size_t under_way_ = 0;              // bytes that the transport has taken and that have not arrived
  std::size_t limit_;                      // of these, by the measured speed
  Nanoseconds measured_since_ = 0;
  std::size_t measured_ = 0; // bytes that have arrived since then
};

} // namespace dlhost::param
