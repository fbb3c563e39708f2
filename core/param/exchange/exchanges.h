// Exchanges of a slice among all server groups, one after another. One begins when it is due, and those that hear of it
// join; where all groups make each step together each knows when it is due, no server joins before, and no worker goes
// on until it is over. Else updates go on beneath it, and what it brings is added to what they made.
//
// Where slices share rows (row_pool.h), an exchange is of one section after another, and sections wait for a place. So
// that servers never wait for one another's places, all begin sections in one order, which is that of the first group's
// server: it says the turn of each exchange in its call, and the others ask it for one. Of the sections that are not
// over everywhere, the first in this order has a place at each server, or is the next to get one: the places are held
// by that one and later ones, and no server began a later one before it. So it ends, and so do all.
#pragma once

#include <deque>

#include "param/exchange/group_sync.h"
#include "param/exchange/row_pool.h"

namespace dlhost::param {

class Exchanges final : public GroupSync {
 public:
  static void add_bytes(const RowExchange::Part&, std::span<const Slice* const> owned, std::size_t bound,
                        std::size_t& end);

  explicit Exchanges(Setup);
  void begin(const StartPoint&) override;
  bool is_on(std::size_t which) const override { return pieces_[which].on; }
  std::optional<std::uint32_t> first_missing(std::size_t which) const override;
  bool is_due(std::size_t which, Version) const override;
  Result<bool> start(std::size_t which, Version, const float* value) override;
  std::optional<std::size_t> next() const override;
  void amended(std::size_t which) override;
  Result<News> take(std::size_t which, std::uint32_t from, const ToNeighbour&) override;
  Status conclude(std::size_t which, Version now, const float* from, float* to) override;
  bool align(std::size_t which, Version now, std::uint64_t number) override;
  bool is_aligned() const override;
  std::uint64_t exchanges(std::size_t which) const override { return pieces_[which].number; }
  bool align_through(std::size_t which, std::uint64_t number) override;

 private:
  struct Section {
    RowExchange row;                           // of what was learned
    std::unique_ptr<SliceUpdate> outer, shift; // of the common value, and of the slice's
    std::span<float> common;
    std::size_t offset = 0; // of its elements in the slice's
    std::size_t place = 0;  // of shared rows
    Version at = 0;         // at which the exchange began that is on, or was last
    bool moved = false;     // the value, since then, at the same version

    bool is_over() const { return row.is_on() && row.is_made() && !row.is_untaken(); }
  };
  struct Piece {
    std::vector<Section> sections;
    std::uint64_t number = 0; // of the exchange that is on, or was last
    bool on = false;
    std::size_t begun = 0, ended = 0; // sections of that one
    Version at = 0;                   // at which the first of them began
    std::uint64_t aligned = 0;        // by the end of that one
    std::uint64_t turn = 0;           // of the exchange that is on; 0: it is not said yet, or there are no turns
    bool called = false;              // a neighbour is in the next one, or asks for it
    std::uint64_t called_turn = 0;    // and that is its turn
    std::uint64_t asked = 0;          // the newest that the first server was asked for
  };

  Status share_rows(std::span<const Slice* const> owned) override;
  Status add(const Slice&) override;
  bool says_turns() const { return plan_.shared && neighbours_.rank == 0; }
  bool hears_turns() const { return plan_.shared && neighbours_.rank > 0; }
  Status call(const Piece&, std::uint32_t rank, std::uint64_t number) const;
  Status enter(Piece&, Version);
  bool is_next(const Piece&) const;
  Status begin_section(Piece&, Version, const float* value);
  Result<News> hear_call(Piece&, const to_neighbour::Call&, std::uint32_t from);
  template <class Message> Result<News> hear(Piece&, const Message&, std::uint32_t from);
  Status conclude(Section&, std::uint64_t number, Version now, const float* from, float* to);

  RowPlan plan_;
  std::optional<RowPool> pool_;      // where rows are shared
  std::deque<Slice> section_slices_; // which the rows refer to
  std::vector<Piece> pieces_;
  std::uint64_t last_turn_ = 0; // that was said
  std::uint64_t turn_ = 1;      // whose sections begin
};

} // namespace dlhost::param
