// The state that outlives workers that have died, if servers publish it (param/server/surviving_versions.h). Read by a
// worker that has not died, when no worker computes or serves any more. Salvage never writes shared memory, so if this
// worker dies too, another one can repeat it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "param/table/gathered.h"
#include "run/worker/worker_ends.h"

namespace dlhost::run {

class Salvage {
 public:
  // Of each slice of a server group the version that the run goes on with.
  using Records = std::vector<param::SurvivingVersions::Record>;

  explicit Salvage(WorkerEnds& ends) : ends_(ends) {}
  // Waits until no other worker computes or serves. `end`: ends a worker that goes on too long.
  void await_retirement(const std::function<bool(std::uint32_t worker)>& is_lost,
                        const std::function<void(std::uint32_t worker)>& end) const;
  // Moves the surviving values and histories into the store: the newest; if all groups make each step together, those
  // that all slices have. Errors: Code::not_found if servers had not begun.
  Result<param::StartPoint> read();
  // Of each server group, after read().
  const std::optional<std::vector<Records>>& records() const { return records_; }

 private:
  Result<Records> surviving(std::uint32_t server_group) const;
  std::span<std::byte> value(std::size_t param, const std::vector<Records>&);
  param::StartPoint reached_by(const std::vector<Records>&) const;
  void count_chosen(std::vector<param::StartPoint::OfSlice>&) const;

  WorkerEnds& ends_;
  param::Gathered gathered_;
  std::optional<std::vector<Records>> records_;
};

} // namespace dlhost::run
