// How the workers of a job exchange params: resolved once, from the job and from what its plugins declare, and only
// read afterwards. docs/decisions/plan.md says why.
#pragma once

#include <cstdint>
#include <string_view>

#include "config/job.h"
#include "plan/declared.h"

namespace dlhost::plan {

struct Exchange {
  // Total: also for a job that is refused (refusals.h).
  static Exchange of(const config::Job&, const Declared&);

  // The place where the gradients of a step are added up.
  enum class Sums : std::uint8_t {
    alone,   // there is one worker: its program updates the params
    servers, // servers make the versions, and workers read them
    devices, // each worker has all params and updates them; devices sum the gradients
  } sums = Sums::alone;
  bool has_servers() const { return sums == Sums::servers; }

  // The contributions that make a version, and whether groups wait for each other.
  bool joint = false;          // contributions of all groups make an update together
  bool in_step = true;         // all groups make each step together; else each group goes at its own pace
  bool by_step = false;        // groups are chosen for whole steps, by the first server of each server group
  bool chooses_steps = false;  // the same, and late contributions are dropped
  bool whole_versions = false; // all slices make each version from the same steps
  bool folds = false;          // some handlers fold late contributions in
  bool may_be_late = false;    // some handlers drop or fold late contributions

  // What server groups exchange.
  enum class Groups : std::uint8_t {
    one,           // nothing: there is one
    values,        // what they learned, in exchanges in which all take part
    gossip,        // what they learned, from neighbour to neighbour
    gradients,     // the gradients of each version, before it is made
    contributions, // those of all workers
  } groups = Groups::one;
  bool exchanges_values() const { return groups == Groups::values || groups == Groups::gossip; }
  // Server groups make the same versions.
  bool alike() const { return groups == Groups::gradients || groups == Groups::contributions; }

  // What goes through the codec.
  enum class Encodes : std::uint8_t { nothing, contributions, exchanges } encodes = Encodes::nothing;

  // What workers keep and send.
  bool own_values = false;  // workers update values of their own
  bool differences = false; // they send differences instead of gradients
  // The servers do not have what a worker has.
  bool workers_keep() const { return own_values && differences; }

  // What outlives a death.
  bool versions_outlive = false; // each version outlives the server that made it (topology.replicas)
  bool groups_go_on = false;     // server groups go on without one that is lost, if its processes can be replaced

  // Each worker sends the same bytes in each step, whatever the pace of the others.
  bool sends_alike = false;
};

std::string_view word(Exchange::Sums);
std::string_view word(Exchange::Groups);
std::string_view word(Exchange::Encodes);

} // namespace dlhost::plan
