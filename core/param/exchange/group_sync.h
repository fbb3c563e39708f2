// Brings the values of a server and of its neighbours (the servers of the same slices in other server groups) together:
// core's side of a sync of values (dlhost/sync.h). There are two ways: exchanges in which all groups take part
// (exchanges.h), and gossip from neighbour to neighbour (gossip.h). What a server has "learned" is the sum of its own
// changes of a slice, without those from other groups.
//
// All servers begin with the same values. Neighbours read parts in place, from rows of each slice in the memory of the
// server's worker. Does not allocate after make(), unless a server group is lost or joins.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "param/exchange/neighbours.h"
#include "param/exchange/row_exchange.h"
#include "param/server/ledger.h"
#include "param/store/add_rule.h"
#include "param/store/slice_update.h"
#include "param/table/slices.h"
#include "param/table/table_memory.h"

namespace dlhost::param {

class GroupSync {
 public:
  struct Setup {
    Neighbours neighbours;
    bool in_step = false;             // all groups make each step together
    bool outlived = false;            // changes from other groups are kept in memory that outlives this server
    std::size_t rows_bound = 0;       // bytes of rows, if slices share them; 0: the default (row_pool.h)
    bool mends = false;               // the run may continue when a group is lost (gossip only)
    const Masters* masters = nullptr; // of its group
    Store* store = nullptr;
    // Reads what a lost server group had learned of a slice, at least as far as it may have told other groups, and
    // returns the version that contained it. None: the lost server had not begun. Called when that server is gone.
    std::function<std::optional<Version>(std::uint32_t rank, const Slice&, std::span<float> learned)> outlived_by;
    // Records that what this server has learned of a slice is complete at that place of its worker's memory. `which`:
    // the index of the slice among the owned ones. Called before a part is sent.
    std::function<Status(std::size_t which, Version, std::uint64_t place)> publish;
  };
  // Bytes of the rows of a server's slices.
  static std::size_t bytes(const RowExchange::Part&, const Slices&, std::uint32_t server, std::size_t rows_bound = 0);
  // Number of the masters' shared rows: the common value and its histories. If they outlive a server, there is also the
  // start value, and two rows by turns for the sum of changes from other groups. Gossip always has the start value.
  static std::size_t shared_rows(const Sync& sync, bool outlived) {
    return begun_row(sync) + (outlived ? 3 : gossips(sync) ? 1 : 0);
  }
  static std::vector<Updater::History> histories(const Sync&);
  static std::size_t begun_row(const Sync& sync) { return 1 + histories(sync).size(); }
  static std::size_t heard_row(const Sync& sync, std::size_t which) { return begun_row(sync) + 1 + which; }
  static bool gossips(const Sync&);

  static Result<std::unique_ptr<GroupSync>> make(Setup, std::span<const Slice* const> owned);
  virtual ~GroupSync() = default;

  // Starts. Requires: the values are the common ones, or the group joins (StartPoint::joining).
  virtual void begin(const StartPoint&) = 0;
  bool in_step() const { return setup_.in_step; }
  // From now on, exchanges are recorded in the ledger.
  void keep(Ledger* ledger) { ledger_ = ledger; }

  // In all functions below, `which` is the index of a slice among the owned ones.

  // True if an exchange of the slice is on.
  virtual bool is_on(std::size_t which) const = 0;
  // The seat of the first server whose message the exchange waits for.
  virtual std::optional<std::uint32_t> first_missing(std::size_t) const { return std::nullopt; }
  // True if an exchange should begin with this version. Requires: none is on.
  virtual bool is_due(std::size_t which, Version) const = 0;
  // Begins or continues an exchange with this value, as far as rows are free. Returns true if it, or a section of it,
  // is over at once: then the caller calls conclude().
  virtual Result<bool> start(std::size_t which, Version, const float* value) = 0;
  // A slice that waited for rows that are free now: the caller calls start() again.
  virtual std::optional<std::size_t> next() const { return std::nullopt; }

  enum class News { none, join, over };
  // Call it when the value has changed without a new version.
  virtual void amended(std::size_t which) = 0;

  // Takes a neighbour's message. Returns join if the caller must start(), over if it must conclude().
  virtual Result<News> take(std::size_t which, std::uint32_t from, const ToNeighbour&) = 0;

  // Ends the exchange, or the sections of it that are over: `to` becomes the value `from` with the others' changes.
  // `to` and `from` may be the same.
  virtual Status conclude(std::size_t which, Version now, const float* from, float* to) = 0;

  // The index of the row with the others' changes that are in the value (heard_row()).
  virtual std::size_t heard(std::size_t) const { return 0; }

  // The slice must be exchanged as it is now, whether due or not. `number`: of this alignment; 0: the next one. Returns
  // true if the caller must start() now.
  virtual bool align(std::size_t which, Version now, std::uint64_t number) = 0;
  // True if all slices are aligned.
  virtual bool is_aligned() const = 0;
  // The number of the last alignment.
  virtual std::uint64_t times_aligned() const { return 0; }
  // The number of exchanges of a slice in which all groups took part.
  virtual std::uint64_t exchanges(std::size_t) const { return 0; }
  // Alignment needs exchanges up to this number, because another server has made so many. Returns true if the caller
  // must start() now.
  virtual bool align_through(std::size_t, std::uint64_t) { return false; }

  // The functions below are for gossip only.

  // The server group of this rank is lost; the run continues without it.
  virtual Status lose(std::uint32_t) { return {}; }
  // New processes have replaced the group of this rank. They use this memory. `order`: of the admission.
  virtual Status join(std::uint32_t, std::span<std::byte>, std::uint32_t) { return {}; }
  // True if changes have arrived that are not in the value: the caller must conclude().
  virtual bool has_news(std::size_t) const { return false; }
  // Returns and forgets the messages that arrived before this server knew of the loss or join that they presuppose.
  struct Early {
    std::size_t which = 0;
    std::uint32_t from = 0; // seat
    ToNeighbour message;
  };
  virtual std::vector<Early> early() { return {}; }
  // True after begin() in a run that others continued, until take() has completed the values.
  virtual bool is_joining() const { return false; }
  // Asks the others for these values.
  virtual Status recall() { return {}; }

 protected:
  explicit GroupSync(Setup setup) : setup_(std::move(setup)), neighbours_(setup_.neighbours) {}
  // Called before the first slice is added.
  virtual Status share_rows(std::span<const Slice* const>) { return {}; }
  virtual Status add(const Slice&) = 0;

  std::span<float> shared(const Slice&, std::size_t which) const;
  // Makes the update that adds changes to a slice's value.
  Result<std::unique_ptr<SliceUpdate>> shift(const Slice&) const;
  const Sync& sync() const { return *neighbours_.sync; }

  const Setup setup_;
  Neighbours neighbours_;
  AddRule addition_;
  Ledger* ledger_ = nullptr;
};

} // namespace dlhost::param
