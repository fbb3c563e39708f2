// Chooses, where a handler chooses for whole steps (Consistency::Traits::by_step), whose contributions make the next
// version of all slices: slice by slice two workers could each wait for what only the other can complete. It chooses
// groups: the workers of one make a step together or not at all. It sits beside the first server of a server group;
// workers tell it when all of a step is sent, and it tells all servers of the group.
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
    std::function<Status(const Message&)> tell;   // all servers
    std::function<Status(const Message&)> answer; // the run's leader
  };
  explicit Chooser(Setup);

  // That a step is whole, that a worker leaves, or that nothing is to be left undecided.
  Status take(const Message&);
  void begin(const StartPoint&);

  // Steps of groups.
  const Arrivals& arrivals() const { return arrivals_; }

 private:
  // What has come of a group's step.
  struct Group {
    std::uint64_t next = 0; // steps below this one are in
    std::uint32_t here = 0; // workers that have sent all of it
    Version based_on = 0;   // the oldest version that any of them computed with
    std::uint32_t in = 0;   // workers that still make steps
  };

  SliceState state(std::uint32_t group);
  Status update(std::uint32_t which, const Message&);
  Status leave(std::uint32_t which);
  Status tell(const Contribution&, Message);
  Status decide(const Contribution* arrived, const UpdateVerdict&);
  Status choose(std::span<const Contribution>, const UpdateVerdict&);
  Status fold(const Contribution&, float weight);
  Status complete();
  Status say_what_is_undecided();

  Setup setup_;
  std::vector<Group> groups_;
  std::vector<Contribution> held_; // of a group each
  std::vector<std::uint64_t> own_; // the handler's words
  Version version_ = 0;
  float folded_ = 0; // weights, since the last version
  Arrivals arrivals_;
};

} // namespace dlhost::param
