// Decides whose contributions make the next version of all slices, under handlers that choose whole steps
// (Consistency::Traits::by_step). If servers chose slice by slice, two workers could each wait for a version that only
// the other completes. It chooses groups: the workers of a group make a step together or not at all. The chooser runs
// beside the first server of a server group. Workers tell it when all of a step is sent; it tells all servers of the
// group.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include <dlhost/consistency.h>

#include "param/message/protocol.h"
#include "param/server/arrivals.h"
#include "param/table/start_point.h"
#include "plugin/activity.h"

namespace dlhost::param {

class Chooser {
 public:
  struct Setup {
    Clients clients;
    Consistency* consistency = nullptr;
    const plugin::Actor* actor = nullptr;
    plugin::Activity* activity = nullptr;
    std::uint32_t epoch = 0;                                   // the attempt of the run
    std::function<Status(const ToServer&)> tell;               // all servers
    std::function<Status(const to_worker::Undecided&)> answer; // the run's leader
  };
  explicit Chooser(Setup);

  Status take(std::uint32_t from, const ToChooser&);
  void begin(const StartPoint&);

  // Counts steps of groups.
  const Arrivals& arrivals() const { return arrivals_; }

 private:
  // The state of a group's present step.
  struct Group {
    std::uint64_t next = 0; // all earlier steps are taken
    std::uint32_t here = 0; // workers that have sent the whole step
    Version based_on = 0;   // the oldest version that one of them computed with
    std::uint32_t in = 0;   // workers that still make steps
  };

  SliceState state(std::uint32_t group);
  Status update(const to_chooser::Whole&);
  Status leave(std::uint32_t from, WorkerId);
  // Tells all servers about each worker of a group: `Type` names the worker and the group's step.
  template <class Type> Status tell(const Contribution&, Type);
  Status decide(const Contribution* arrived, const UpdateVerdict&);
  Status choose(std::span<const Contribution>, const UpdateVerdict&);
  Status fold(const Contribution&, float weight);
  Status complete(std::uint32_t from);
  Status say_what_is_undecided();

  Setup setup_;
  std::vector<Group> groups_;
  std::vector<Contribution> held_; // one for each waiting group step
  std::vector<std::uint64_t> own_; // the handler's words
  Version version_ = 0;
  float folded_ = 0; // weights since the last version
  Arrivals arrivals_;
};

} // namespace dlhost::param
