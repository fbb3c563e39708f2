// Sums the gradients of slices over all server groups, before each group makes the same version of the sum. It is
// core's side of a sync of gradients (dlhost/sync.h).
#pragma once

#include <memory>
#include <vector>

#include "param/exchange/row_exchange.h"
#include "param/store/store.h"

namespace dlhost::param {

class GradientSums {
 public:
  // Bytes of the rows of a server's slices.
  static std::size_t bytes(const RowExchange::Part&, const Slices&, std::uint32_t server);
  // For sums of up to `contributions` contributions of this group.
  static Result<std::unique_ptr<GradientSums>> make(Neighbours, Store&, std::span<const Slice* const> owned,
                                                    std::size_t contributions);

  // In all functions below, `which` is the index of a slice among the owned ones.

  void begin();
  // This group's contributions are complete. The caller starts the sum when can_start() says so.
  void make_due(std::size_t which) { states_[which] = State::due; }
  // True if contributions are due, and the other groups have read the last sum.
  bool can_start(std::size_t which) const { return states_[which] == State::due && rows_[which].has_room(); }
  // Starts an exchange with this group's contributions. They may be overwritten when it returns.
  Status start(std::size_t which, Version, std::span<const float* const> gradients, float weight);
  // Takes a neighbour's message.
  Status take(std::size_t which, std::uint32_t from, const ToNeighbour&);
  // True if the sum of all groups is complete.
  bool is_whole(std::size_t which) const { return states_[which] == State::on && rows_[which].is_made(); }
  // Ends the exchange. Returns the sum, which stays until the next start(). Requires: is_whole().
  const float* take_sum(std::size_t which);
  // True from make_due() to take_sum().
  bool is_pending(std::size_t which) const { return states_[which] != State::idle; }
  // The seat of the first server whose part is missing.
  std::optional<std::uint32_t> first_missing(std::size_t which) const {
    return neighbours_.seat_of(rows_[which].first_missing());
  }

 private:
  enum class State : std::uint8_t { idle, due, on };

  GradientSums(Neighbours neighbours, Store& store) : neighbours_(std::move(neighbours)), store_(store) {}
  Status add(const Slice&, std::size_t contributions);

  Neighbours neighbours_;
  Store& store_;
  std::vector<RowExchange> rows_;
  std::vector<State> states_;                         // by slice
  std::vector<std::vector<std::unique_ptr<Op>>> ops_; // per slice: the weighted sum of one, of two, ...
  std::vector<const void*> inputs_;
  Memory scratch_;
};

} // namespace dlhost::param
