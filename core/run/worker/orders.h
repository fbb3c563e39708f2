// Whose word a worker goes by: the run's leader's and, where groups make steps by themselves, that of its group's.
// Whoever else says such a thing is mistaken, or no worker of this run.
#pragma once

#include <cstdint>

#include "param/message/protocol.h"

namespace dlhost::run {

struct Orders {
  std::uint32_t leader = param::leading_seat; // who leads this one; of who leads a group: the run's leader

  bool may_come(param::Word word, std::uint32_t seat) const {
    switch (word) {
    case param::Word::put:
    case param::Word::join: return seat == param::leading_seat;
    case param::Word::go:
    case param::Word::free:
    case param::Word::hold: return seat == leader;
    case param::Word::stop: return seat == leader || seat == param::leading_seat;
    default: return true; // anyone's
    }
  }
};

} // namespace dlhost::run
