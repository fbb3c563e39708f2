// Exchanges of a slice among all server groups, one after another. One begins when it is due, and those that hear of it
// join; where all groups make each step together each knows when it is due, nobody joins before, and no worker goes on
// until it is over. Else updates go on beneath it, and what it brings is added to what they made.
#pragma once

#include "param/exchange/group_sync.h"
#include "param/exchange/row_exchange.h"

namespace dlhost::param {

class Exchanges final : public GroupSync {
 public:
  static constexpr std::size_t turns = 1;

  explicit Exchanges(Setup);
  void begin(const StartPoint&) override;
  bool is_on(std::size_t which) const override { return pieces_[which].row.is_on(); }
  std::optional<std::uint32_t> first_missing(std::size_t which) const override {
    return neighbours_.seat_of(pieces_[which].row.first_missing());
  }
  bool is_due(std::size_t which, Version) const override;
  Result<bool> start(std::size_t which, Version, const float* value) override;
  void amended(std::size_t which) override { pieces_[which].moved = true; }
  Result<News> take(std::size_t which, const Message&) override;
  Status conclude(std::size_t which, Version now, const float* from, float* to) override;
  bool align(std::size_t which, Version now) override;
  bool is_aligned() const override;
  std::uint64_t exchanges(std::size_t which) const override { return pieces_[which].row.number(); }
  bool align_through(std::size_t which, std::uint64_t number) override;

 private:
  struct Piece {
    RowExchange row;                           // of what was learned
    std::unique_ptr<SliceUpdate> outer, shift; // of the common value, and of the slice's
    std::span<float> common;
    Version at = 0;            // at which the exchange began that is on, or was last
    std::uint64_t aligned = 0; // by the end of that one
    bool moved = false;        // the value, since then, at the same version
    bool called = false;       // a neighbour is in the next one

    bool is_over() const { return row.is_made() && !row.is_untaken(); }
  };

  Status add(const Slice&) override;

  std::vector<Piece> pieces_;
};

} // namespace dlhost::param
