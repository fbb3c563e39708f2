// The orders that a worker has received, and the workers that may give them: the run's leader and, if groups make steps
// by themselves, its group's leader. An order of any other worker is an error, or comes from outside the run.
#pragma once

#include <cstdint>
#include <optional>

#include "param/message/protocol.h"

namespace dlhost::run {

struct Orders {
  std::uint32_t leader = param::leading_seat; // of this worker; of a group's leader: the run's leader

  bool are_values_put = false; // the first values are everywhere
  std::optional<param::to_worker::Go> go;
  std::uint64_t free_until = 0;        // steps of the own group
  std::optional<std::uint32_t> holder; // the worker that wants this one to stand still
  bool resting = false;                // until the worker may go on
  bool stopped = false;                // the run is over

  bool may_come(const param::ToWorker&, std::uint32_t from) const;
  // Takes what the message orders. Most messages order nothing.
  void note(const param::ToWorker&, std::uint32_t from);
};

} // namespace dlhost::run
