// Moves: the boxes that go from worker to worker to make one form of a tensor from another. The list is printed,
// predicted and executed.
//
//   before         each worker has its box of the form `from`; all sources are read there
//   gathers=false  the receiver's box of the form `to` gets the box of the sender's term: copied, or added if `adds`
//   gathers=true   then: the sender's finished box of `to` is copied
//
// A receiver applies its moves in the order of the list, so all workers get the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "net/form.h"

namespace dlhost::net {

struct Move {
  std::uint32_t from = 0, to = 0; // workers; equal: a copy within a worker
  Box box;
  bool adds = false;
  bool gathers = false;
  bool operator==(const Move&) const = default;
};

// A receiver takes what it has itself first, then from workers of its machine, then from others, evenly. Summands that
// several workers want are added up in pieces, one piece by each of them, and then gathered.
// `machines`: the machine of each worker; empty: all are of one.
// Requires: the forms have the same shape and workers; `to` has no summands; `from` has all elements of `to`.
std::vector<Move> moves(const Form& from, const Form& to, std::span<const std::uint32_t> machines = {});

// The elements that go from one worker to another.
std::int64_t crossing(std::span<const Move>);

// The connector's name for people:
//   slice     a part of what one worker has, or all have, to each
//   concat    the parts to one worker                              gather    to all workers
//   split     the same to all workers; their gradients are summed  bridge    from one worker to another
//   reduce    a sum of summands                                    exchange  parts to other parts
std::string_view name_of_moves(const Form& from, const Form& to);

} // namespace dlhost::net
