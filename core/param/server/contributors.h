// The workers that contribute to one server, and which of them still make steps.
//
// A worker has an index among the contributors, and a number among all workers of the run. Both count group by group,
// then rank by rank.
//
// Thread: the server's. Does not allocate after construction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dlhost/consistency.h>

#include "param/message/protocol.h"
#include "param/server/ledger.h"

namespace dlhost::param {

// A worker, for a server.
struct Contributor {
  std::uint16_t group = 0, rank = 0;
  std::uint32_t seat = 0;
  std::span<const std::byte> sent; // its memory; the places in its updates are offsets in it
  std::uint32_t machine = 0;
};

// A contribution that has arrived.
struct Received {
  Contribution contribution;
  std::size_t contributor = 0; // index of the worker that sent it
  double rate = 0;             // the schedule's rate of its step

  std::uint64_t step() const { return contribution.who.step; }
};

class Contributors {
 public:
  // `all`: by group, then by rank; at least one. `groups`: worker groups that contribute.
  Contributors(std::vector<Contributor> all, std::uint32_t groups);

  std::size_t size() const { return all_.size(); }
  const Contributor& operator[](std::size_t index) const { return all_[index]; }
  std::uint32_t groups() const { return clients_.groups; }
  // More than the highest number of a machine with a contributor.
  std::size_t machines() const { return 1 + std::ranges::max(all_, {}, &Contributor::machine).machine; }

  // The index of the worker that a message names. Errors: corrupt if the worker is no contributor.
  Result<std::size_t> index_of(WorkerId worker) const { return contributor(worker, clients_); }
  std::size_t index_of(std::size_t number) const { return number - clients_.first_contributor(); }
  std::size_t number_of(std::size_t index) const { return clients_.first_contributor() + index; }
  // The contribution's name in the ledger.
  Ledger::Part part_of(const Received& received) const { return {number_of(received.contributor), received.step()}; }

  // The index of the worker that `Leave` names. Errors: corrupt if the sender does not lead the worker's group.
  Result<std::size_t> leaver_of(std::uint32_t from, const to_server::Leave&) const;
  // The worker makes no more steps.
  void leave(std::size_t index);
  bool makes_steps(std::size_t index) const { return makes_steps_[index]; }
  std::uint32_t makers() const { return makers_; } // workers that still make steps

 private:
  const std::vector<Contributor> all_;
  const Clients clients_;
  std::vector<bool> makes_steps_;
  std::uint32_t makers_;
};

} // namespace dlhost::param
