// The workers whose orders a worker obeys: the run's leader and, if groups make steps by themselves, its group's
// leader. An order of any other worker is an error, or comes from outside the run.
#pragma once

#include <cstdint>

#include "param/message/protocol.h"

namespace dlhost::run {

struct Orders {
  std::uint32_t leader = param::leading_seat; // of this worker; of a group's leader: the run's leader

  bool may_come(param::Word word, std::uint32_t seat) const {
    switch (word) {
    case param::Word::put:
    case param::Word::join: return seat == param::leading_seat;
    case param::Word::go:
    case param::Word::free:
    case param::Word::hold: return seat == leader;
    case param::Word::stop: return seat == leader || seat == param::leading_seat;
    default: return true; // any worker may send it
    }
  }
};

} // namespace dlhost::run
