// Rows that the slices of a server are exchanged by with other server groups, shared out among those that are exchanged
// just then. Slices are cut into sections for it, which are exchanged one by one: each takes a place, a pair of rows,
// when it begins, and gives it back when the others have read what was in it.
//
// RowPlan is what all servers of the same slices know without a word: of sizes alone. Where the rows of all slices take
// no more than the bound, each slice has its own, and nothing is cut or waits; nor where they are encoded, since a
// codec sees a slice as a whole.
#pragma once

#include <span>
#include <vector>

#include "param/exchange/row_exchange.h"

namespace dlhost::param {

struct RowPlan {
  static constexpr std::size_t least_places = 6; // where the bound has room for them: so many sections are under way

  // `bound`: bytes of rows; 0: a quarter of the slices', and 4 MiB at least.
  static RowPlan of(std::span<const Slice* const> slices, const CodecUse&, std::size_t bound);
  // The sections of a slice, in their order.
  std::vector<Slice> cut(const Slice&) const;
  void add_bytes(std::size_t& end) const;

  bool shared = false;      // else each slice has rows of its own
  std::int64_t longest = 0; // elements of a section
  std::size_t places = 0;
};

class RowPool {
 public:
  RowPool(Neighbours&, const RowPlan&); // places in the neighbours' memory

  void reset();
  bool has_place() const { return !free_.empty(); }
  std::size_t take(); // needs one that is free
  RowExchange::Rows rows(std::size_t place, const Slice& section) const;
  void give_back(std::size_t place) { free_.push_back(place); }

 private:
  std::vector<RowExchange::Rows> places_;
  std::vector<std::size_t> free_;
};

} // namespace dlhost::param
