// The exchange of a server's values with the servers of the same slices in other server groups: when one begins, how
// its result becomes the value, and the alignment of all slices, after which the run's leader may save them.
//
// Without other groups nothing is exchanged, and slices are aligned at once.
//
// Owns: core's side of the sync (group_sync.h). Borrows the slices. Thread: the server's. Does not allocate after the
// slices are added, unless a server group is lost or joins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "param/exchange/group_sync.h"
#include "param/server/answers.h"
#include "param/server/ledger.h"
#include "param/server/send.h"
#include "param/server/slice_requests.h"
#include "param/server/slice_versions.h"
#include "param/server/version_maker.h"

namespace dlhost::param {

class ValueExchange {
 public:
  struct Setup {
    std::optional<GroupSync::Setup> sync; // none: there are no other groups, or they make the same versions
    bool publishes_changes = false;       // what is sent to other groups outlives this server
    const Send* send = nullptr;
    Answers* answers = nullptr;
  };
  static Result<std::unique_ptr<ValueExchange>> make(Setup, std::span<const Slice* const> owned);

  // Adds an owned slice. In all functions `which` is its index, in the order of these calls.
  // Requires: the same order as in make().
  void add(SliceVersions&, const VersionMaker&, SliceRequests&);
  // Null: nothing is exchanged.
  const GroupSync* sync() const { return sync_.get(); }
  // From now on, exchanges are recorded in the ledger.
  void keep(Ledger*);

  void begin(const StartPoint&);
  bool is_joining() const { return sync_ && sync_->is_joining(); }
  // From now on, the newest version outlives this server, if each does.
  void publish(std::size_t which);
  // The slice has a new version: an exchange may begin.
  Status go_on(std::size_t which);
  // The value has changed without a new version.
  void amended(std::size_t which);
  // Takes a neighbour's message.
  Status take(std::size_t which, std::uint32_t from, const ToNeighbour&);

  // As Shard's functions of these names.
  Status join(std::uint32_t number);
  Status lose(std::uint32_t rank);
  Status replace(std::uint32_t rank, std::span<std::byte> memory, std::uint32_t order);

  // The slice must be exchanged as it is now. `Aligned` is sent by say_aligned(), once all slices are aligned.
  // `number`: as in to_server::Align.
  Status align(std::size_t which, std::uint64_t number);
  // Another server group has made more exchanges of the slice.
  Status align_through(std::size_t which, std::uint32_t from, const to_server::AlignThrough&);
  Status say_aligned();

  // True if the slice makes no version, and no `Get` is answered, before an exchange is over.
  bool holds_up(std::size_t which) const { return sync_ && sync_->in_step() && sync_->is_on(which); }
  // The seat of the first server whose message the exchange waits for.
  std::optional<std::uint32_t> first_missing(std::size_t which) const { return sync_->first_missing(which); }

 private:
  struct Exchanged {
    SliceVersions* versions = nullptr;
    const VersionMaker* maker = nullptr;
    SliceRequests* requests = nullptr;
    bool is_over = false; // the exchange is over, but not in the value yet
    bool aligns = false;  // `Aligned` is to be sent to the run's leader
  };
  explicit ValueExchange(Setup setup) : setup_(std::move(setup)) {}
  Status publish_changes(std::size_t which, Version, std::uint64_t place);
  Result<bool> start(std::size_t which);
  Status conclude(std::size_t which);
  Status conclude_and_answer(std::size_t which);
  Status start_waiting();
  Status hear_of_groups();
  Status say_joined();

  Setup setup_;
  std::unique_ptr<GroupSync> sync_;
  std::vector<Exchanged> slices_;
  std::uint32_t joins_ = 0; // sequence number of this replaced group while it joins; else 0
  Ledger* ledger_ = nullptr;
};

} // namespace dlhost::param
