// Exchanges of a row of elements among neighbours, one after another. After an exchange, every rank's made row is the
// sum of all ranks' begun rows. It is core's side of a sync (dlhost/sync.h): the sync decides which rank sends which
// part to which rank; this class moves and adds the parts. With a codec, parts are encoded (part_coder.h), and the sum
// is that of the decoded parts.
//
// Neighbours read parts in place, and send `Taken` when they have read one. If there are several pairs of rows,
// exchanges use them by turns, so that the next exchange need not wait for `Taken`. Does not allocate after join().
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
    std::span<std::byte> encoded; // the messages with encoded parts of them
  };
  static constexpr std::size_t most_turns = 2;
  // The number of pairs of rows that is worth its memory: two for small slices.
  static std::size_t turns(const Slice&);
  // The participants, known before there is memory for the rows.
  struct Part {
    const Sync* sync = nullptr;
    Sync::Ranks ranks;
    CodecUse codec;
  };
  // Adds the bytes of a slice's rows to `end`.
  static void add_bytes(const Part&, const Slice&, std::size_t turns, std::size_t& end);
  static std::vector<Rows> rows(Neighbours&, const Slice&, std::size_t turns);

  // `section`: the number of the slice's section, if sections are exchanged one by one.
  static Result<RowExchange> join(const Neighbours&, const Slice&, std::vector<Rows> turns, std::uint16_t section = 0);
  // Sets the rows of the next exchange. Requires: there is one pair of rows.
  void lend(const Rows& rows) { rows_.front() = rows; }

  // The next exchange is the first again. Requires: no rank is in an exchange.
  void reset();
  const Slice& slice() const { return *slice_; }
  std::span<const Rows> all() const { return rows_; }
  std::uint64_t number() const { return number_; } // of the present exchange, else of the last
  bool is_on() const { return on_; }
  // True if made() is the sum. Neighbours may still read it, until is_untaken() is false.
  bool is_made() const { return made_; }
  bool is_untaken() const { return !is_taken(0) || !is_taken(1); }
  // True if no neighbour reads the rows of the next exchange any more.
  bool has_room() const { return is_taken((number_ + 1) % rows_.size()); }
  // The first rank whose part or whose `Taken` is missing.
  std::optional<std::uint32_t> first_missing() const;
  std::span<float> next_begun() const { return rows_[(number_ + 1) % rows_.size()].begun; }
  std::span<float> begun() const { return rows_[turn()].begun; }
  std::span<float> made() const { return rows_[turn()].made; }

  // Starts the next exchange with the elements in next_begun(). `version`: of the slice; the codec's step.
  Status start(Version version);
  void end() { on_ = false; }
  // Takes a part of this exchange or the next. `from`: the sender's rank.
  Status hear(const to_neighbour::Part&, std::uint32_t from);
  Status hear(const to_neighbour::Taken&, std::uint32_t from);

 private:
  RowExchange(const Neighbours& neighbours, const Slice& slice, std::uint16_t section)
      : neighbours_(&neighbours), slice_(&slice), section_(section) {}
  std::size_t turn() const { return number_ % rows_.size(); }
  bool is_taken(std::size_t turn) const {
    return std::ranges::all_of(untaken_[turn], [](std::size_t parts) { return parts == 0; });
  }
  Status follow();
  // The step in elements of the slice, if the sync counts the whole slice as one element.
  Result<SyncStep> in_elements(const SyncStep&) const;
  Status send(const SyncStep&);
  Status take_own(const SyncStep&);
  // Adds or copies a neighbour's part. If the sync's next step adds this rank's own part there, it does both in one
  // pass.
  Status take(const to_neighbour::Part&, const SyncStep&);
  // Takes all parts that are awaited and have arrived.
  Status go_on();

  const Neighbours* neighbours_;
  const Slice* slice_;
  std::uint16_t section_;
  std::unique_ptr<Exchange> exchange_;
  std::int64_t elements_ = 0;        // in the sync's count
  std::unique_ptr<PartCoder> coder_; // null: parts are not encoded
  std::vector<Rows> rows_;
  std::array<std::vector<std::size_t>, most_turns> untaken_; // per turn and rank: parts sent without `Taken` yet
  std::uint64_t number_ = 0;
  bool on_ = false, made_ = false;
  std::vector<SyncStep> steps_;   // returned by one call of the sync
  std::vector<SyncStep> awaited_; // steps that wait for neighbours' parts
  struct Arrived {
    std::uint32_t from = 0; // rank
    to_neighbour::Part part;
  };
  std::vector<Arrived> arrived_; // parts that no step waits for yet
};

} // namespace dlhost::param
