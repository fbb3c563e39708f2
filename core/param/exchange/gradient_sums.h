// Gradients of slices that all server groups add up, before each makes the same version of the sum: the part that core
// has in a sync of gradients (dlhost/sync.h).
#pragma once

#include <memory>
#include <vector>

#include "param/exchange/row_exchange.h"
#include "param/store/store.h"

namespace dlhost::param {

class GradientSums {
 public:
  // What the rows of a server's slices take.
  static std::size_t bytes(const RowExchange::Part&, const Slices&, std::uint32_t server);
  // Of sums of up to so many contributions in this group.
  static Result<std::unique_ptr<GradientSums>> make(Neighbours, Store&, std::span<const Slice* const> owned,
                                                    std::size_t contributions);

  void begin();
  // Of one of those that are owned, by its number among them: the last sum is no longer read by others.
  bool has_room(std::size_t which) const { return rows_[which].has_room(); }
  // This group's contributions. They are read when it returns.
  Status start(std::size_t which, Version, std::span<const float* const> gradients, float weight);
  // What a neighbour says.
  Status take(std::size_t which, const Message&);
  // Of those that are on: the sum of all groups' is there.
  bool is_whole(std::size_t which) const { return rows_[which].is_made(); }
  // Of whose server it has not heard what it waits for.
  std::optional<std::uint32_t> first_missing(std::size_t which) const {
    return neighbours_.seat_of(rows_[which].first_missing());
  }
  const float* sum(std::size_t which) const { return rows_[which].made().data(); }

 private:
  GradientSums(Neighbours neighbours, Store& store) : neighbours_(std::move(neighbours)), store_(store) {}
  Status add(const Slice&, std::size_t contributions);

  Neighbours neighbours_;
  Store& store_;
  std::vector<RowExchange> rows_;
  std::vector<std::vector<std::unique_ptr<Op>>> ops_; // of each: the weighted sum of one, of two, ...
  std::vector<const void*> inputs_;
  Memory scratch_;
};

} // namespace dlhost::param
