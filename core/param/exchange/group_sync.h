// What a server has to do with those that own the same slices in other server groups (its neighbours), so that their
// values become one again: the part that core has in a sync (dlhost/sync.h). By exchanges that all take part in
// (exchanges.h), or by gossip from neighbour to neighbour (gossip.h).
//
// All begin with the same values. What neighbours read lies in rows of each slice in the server's memory. After make()
// nothing is allocated.
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
    bool outlived = false;            // what came from others is kept where it outlives this server
    std::size_t rows_bound = 0;       // bytes of rows, where slices share them; 0: the default (row_pool.h)
    bool mends = false;               // a group may be lost while the others go on (gossip alone)
    const Masters* masters = nullptr; // of its group
    Store* store = nullptr;
    // What a lost server group had learned itself of a slice, as far as any other may have heard, and the version that
    // had it; none: its server had not begun. Asked when that server is gone.
    std::function<std::optional<Version>(std::uint32_t rank, const Slice&, std::span<float> learned)> outlived_by;
    // What this server has learned itself of a slice, of its own by number, lies whole at that place of its worker's
    // memory. Called before any other hears of it.
    std::function<Status(std::size_t which, Version, std::uint64_t place)> publish;
  };
  // What the rows of a server's slices take.
  static std::size_t bytes(const RowExchange::Part&, const Slices&, std::uint32_t server, std::size_t rows_bound = 0);
  // Rows of masters that are shared with other server groups: the common value, and these histories of it. Where they
  // outlive a server, what all began with, and twice what came from the others since, in turns. Of those that gossip
  // what all began with is always there.
  static std::size_t shared_rows(const Sync& sync, bool outlived) {
    return begun_row(sync) + (outlived ? 3 : gossips(sync) ? 1 : 0);
  }
  static std::vector<Updater::History> histories(const Sync&);
  static std::size_t begun_row(const Sync& sync) { return 1 + histories(sync).size(); }
  static std::size_t heard_row(const Sync& sync, std::size_t which) { return begun_row(sync) + 1 + which; }
  static bool gossips(const Sync&);

  static Result<std::unique_ptr<GroupSync>> make(Setup, std::span<const Slice* const> owned);
  virtual ~GroupSync() = default;

  // The values are the common ones.
  virtual void begin(const StartPoint&) = 0;
  bool in_step() const { return setup_.in_step; }
  // What is exchanged is written down.
  void keep(Ledger* ledger) { ledger_ = ledger; }

  // Of one of those that are owned, by its number among them: an exchange is going on.
  virtual bool is_on(std::size_t which) const = 0;
  // Of whose server what it waits for has yet to come.
  virtual std::optional<std::uint32_t> first_missing(std::size_t) const { return std::nullopt; }
  // Whether one is to begin, now that this version is there and none is on.
  virtual bool is_due(std::size_t which, Version) const = 0;
  // It begins, or goes on, with this value, as far as there are rows for it. Returns whether it, or a part of it, is
  // over at once.
  virtual Result<bool> start(std::size_t which, Version, const float* value) = 0;
  // One that has waited for rows, and has some now: it is to start() again.
  virtual std::optional<std::size_t> next() const { return std::nullopt; }

  enum class News { none, join, over };
  // The value has become another, and its version has not.
  virtual void amended(std::size_t which) = 0;

  // What a neighbour says. join: the caller is to start() now; over: to conclude().
  virtual Result<News> take(std::size_t which, const Message&) = 0;

  // Of what is over. `from` is the value now: `to` becomes what it is with all that came from others.
  virtual Status conclude(std::size_t which, Version now, const float* from, float* to) = 0;

  // Which row of what came from the others the value has.
  virtual std::size_t heard(std::size_t) const { return 0; }

  // Slices are to be exchanged as they are now, whatever is due. True: this one is to start now.
  virtual bool align(std::size_t which, Version now) = 0;
  virtual bool is_aligned() const = 0;
  // How often they were to be.
  virtual std::uint64_t times_aligned() const { return 0; }
  // Exchanges that all take part in have numbers: how many there were. Where some have had more of them than others
  // when all are aligned, the others are to have as many. True: this one is to start now.
  virtual std::uint64_t exchanges(std::size_t) const { return 0; }
  virtual bool align_through(std::size_t, std::uint64_t) { return false; }

  // Of those that gossip. A server group is gone, with its server of these slices: the others go on without it. Others
  // have taken its place, in that memory; `number`: as in Joining.
  virtual Status lose(std::uint32_t) { return {}; }
  virtual Status join(std::uint32_t, std::span<std::byte>, std::uint32_t) { return {}; }
  // Something has come that is not in the value: the caller is to conclude().
  virtual bool has_news(std::size_t) const { return false; }
  // Messages that came before this server had heard of what they rest on, and can be taken now.
  virtual std::vector<Message> early() { return {}; }
  // After begin() in a run that went on meanwhile: the values are not there yet; take() brings them.
  virtual bool is_joining() const { return false; }
  virtual Status recall() { return {}; } // asks for them

 protected:
  explicit GroupSync(Setup setup) : setup_(std::move(setup)), neighbours_(setup_.neighbours) {}
  // Before the first slice is added.
  virtual Status share_rows(std::span<const Slice* const>) { return {}; }
  virtual Status add(const Slice&) = 0;

  std::span<float> shared(const Slice&, std::size_t which) const;
  // What is added to a slice's value.
  Result<std::unique_ptr<SliceUpdate>> shift(const Slice&) const;
  const Sync& sync() const { return *neighbours_.sync; }

  const Setup setup_;
  Neighbours neighbours_;
  AddRule addition_;
  Ledger* ledger_ = nullptr;
};

} // namespace dlhost::param
