// Exchanges of a row of elements among neighbours, one after another, by each of which every rank's made row becomes
// the sum of what all began with: core's part in a sync (dlhost/sync.h). The sync says who sends what to whom; this
// moves it and adds. With a codec what moves is encoded (part_coder.h), and the sum is that of what all read.
//
// Neighbours read parts where they lie, and say when they have (`taken`). Where there are several pairs of rows,
// exchanges take turns with them, so that nobody waits for that word before the next begins. After join() nothing is
// allocated.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "param/codec/part_coder.h"
#include "param/exchange/neighbours.h"

namespace dlhost::param {

class RowExchange {
 public:
  struct Rows {
    std::span<float> begun, made;
    std::span<std::byte> encoded; // messages with parts of them
  };
  static constexpr std::size_t most_turns = 2;
  // So many are worth their memory.
  static std::size_t turns(const Slice&);
  // What those of a slice take; who takes part is known before there is memory for it.
  struct Part {
    const Sync* sync = nullptr;
    Sync::Ranks ranks;
    CodecUse codec;
  };
  static void add_bytes(const Part&, const Slice&, std::size_t turns, std::size_t& end);
  static std::vector<Rows> rows(Neighbours&, const Slice&, std::size_t turns);

  static Result<RowExchange> join(const Neighbours&, const Slice&, std::vector<Rows> turns);

  // Nobody is in the midst of one, and the next is the first.
  void reset();
  const Slice& slice() const { return *slice_; }
  std::span<const Rows> all() const { return rows_; }
  std::uint64_t number() const { return number_; } // of the one that is on, or was last
  bool is_on() const { return on_; }
  // What all began with is in made(); it is read by others all the same, until nothing is untaken.
  bool is_made() const { return made_; }
  bool is_untaken() const { return !is_taken(0) || !is_taken(1); }
  // Nobody reads the rows of the next one any more.
  bool has_room() const { return is_taken((number_ + 1) % rows_.size()); }
  // The first rank whose part, or whose word that it has read one, has yet to come.
  std::optional<std::uint32_t> first_missing() const;
  std::span<float> next_begun() const { return rows_[(number_ + 1) % rows_.size()].begun; }
  std::span<float> begun() const { return rows_[turn()].begun; }
  std::span<float> made() const { return rows_[turn()].made; }

  // With what is in next_begun(). `version`: of the slice, which all begin with.
  Status start(Version version);
  void end() { on_ = false; }
  // A part of this exchange or the next, or what was read of it.
  Status hear(const Message&, std::uint32_t from);

 private:
  RowExchange(const Neighbours& neighbours, const Slice& slice) : neighbours_(&neighbours), slice_(&slice) {}
  std::size_t turn() const { return number_ % rows_.size(); }
  bool is_taken(std::size_t turn) const {
    return std::ranges::all_of(untaken_[turn], [](std::size_t parts) { return parts == 0; });
  }
  Status follow();
  // In elements, where the sync takes a slice for one.
  Result<SyncStep> in_elements(const SyncStep&) const;
  Status send(const SyncStep&);
  Status take_own(const SyncStep&);
  // Together with this rank's own, where that is what the sync wants next.
  Status take(const Message&, const SyncStep&);
  // Takes in all parts that are awaited and here.
  Status go_on();

  const Neighbours* neighbours_;
  const Slice* slice_;
  std::unique_ptr<Exchange> exchange_;
  std::int64_t elements_ = 0;        // that the sync sees
  std::unique_ptr<PartCoder> coder_; // null: parts go as they are
  std::vector<Rows> rows_;
  std::array<std::vector<std::size_t>, most_turns> untaken_; // of each turn, by rank: parts sent, and not yet read
  std::uint64_t number_ = 0;
  bool on_ = false, made_ = false;
  std::vector<SyncStep> steps_;   // of one call of the sync
  std::vector<SyncStep> awaited_; // with parts of neighbours
  std::vector<Message> letters_;  // parts that nothing waits for yet
};

} // namespace dlhost::param
