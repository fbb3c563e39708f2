#include "net/moves.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <tuple>

namespace dlhost::net {
namespace {

using Workers = std::vector<std::uint32_t>;

// The bounds of all boxes cut the tensor into cells; a box of either form is made of whole cells.
std::vector<Box> cells_of(const Form& from, const Form& to) {
  const Shape& shape = from.shape();
  std::array<std::vector<std::int64_t>, max_rank> bounds;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    for (const Form* form : {&from, &to})
      for (const Held& held : form->all())
        if (!held.box.is_empty()) bounds[axis].insert(bounds[axis].end(), {held.box.first[axis], held.box.last(axis)});
    std::ranges::sort(bounds[axis]);
    bounds[axis].erase(std::unique(bounds[axis].begin(), bounds[axis].end()), bounds[axis].end());
  }
  std::vector<Box> cells{Box::whole(shape)};
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    std::vector<Box> finer;
    for (const Box& cell : cells)
      for (std::size_t i = 0; i + 1 < bounds[axis].size(); ++i)
        finer.push_back(cell.with(axis, bounds[axis][i], bounds[axis][i + 1]));
    cells = std::move(finer);
  }
  return cells;
}

// `count` pieces of a box, along its longest axis; some are empty if it is shorter.
std::vector<Box> pieces_of(const Box& box, std::size_t count) {
  const auto longest = static_cast<std::size_t>(std::ranges::max_element(box.shape) - box.shape.begin());
  const std::int64_t length = box.shape[longest], parts = static_cast<std::int64_t>(count);
  std::vector<Box> pieces;
  for (std::int64_t i = 0; i < parts; ++i)
    pieces.push_back(
        box.with(longest, box.first[longest] + length * i / parts, box.first[longest] + length * (i + 1) / parts));
  return pieces;
}

// The union of two boxes, if it is a box.
std::optional<Box> joined(const Box& a, const Box& b) {
  for (std::size_t axis = 0; axis < a.shape.rank(); ++axis) {
    if (a.last(axis) != b.first[axis]) continue;
    const Box both = a.with(axis, a.first[axis], b.last(axis));
    if (b.with(axis, a.first[axis], b.last(axis)) == both) return both;
  }
  return std::nullopt;
}

class Mover {
 public:
  Mover(const Form& from, const Form& to, std::span<const std::uint32_t> machines)
      : from_(from), to_(to), machines_(machines), sent_(from.workers()) {}

  std::vector<Move> run() {
    for (const Box& cell : cells_of(from_, to_)) fill(cell);
    return listed();
  }

 private:
  struct Draft {
    Move move;
    std::uint32_t term = 0;
    auto key() const { return std::tuple(move.gathers, move.to, term, move.adds, move.from); }
  };

  void fill(const Box& cell) {
    Workers receivers;
    for (std::uint32_t w = 0; w < to_.workers(); ++w)
      if (to_.of(w).box.contains(cell)) receivers.push_back(w);
    if (receivers.empty()) return;
    const auto terms = terms_of(cell);
    assert(!terms.empty()); // as required
    if (terms.size() == 1 || receivers.size() == 1) {
      for (const std::uint32_t receiver : receivers) sum(terms, receiver, cell);
      return;
    }
    const auto pieces = pieces_of(cell, receivers.size());
    for (std::size_t i = 0; i < receivers.size(); ++i) {
      if (pieces[i].is_empty()) continue;
      sum(terms, receivers[i], pieces[i]);
      for (const std::uint32_t other : receivers)
        if (other != receivers[i])
          drafts_.push_back({.move = {.from = receivers[i], .to = other, .box = pieces[i], .gathers = true}});
    }
  }

  // The terms that have the cell.
  Workers terms_of(const Box& cell) const {
    Workers terms;
    for (const Held& held : from_.all())
      if (held.box.contains(cell)) terms.push_back(held.term);
    std::ranges::sort(terms);
    terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
    return terms;
  }

  void sum(const Workers& terms, std::uint32_t receiver, const Box& box) {
    for (const std::uint32_t term : terms) {
      const std::uint32_t sender = sender_of(term, receiver, box);
      if (sender != receiver) sent_[sender] += box.count();
      drafts_.push_back({{.from = sender, .to = receiver, .box = box, .adds = term != terms.front()}, term});
    }
  }

  std::uint32_t sender_of(std::uint32_t term, std::uint32_t receiver, const Box& box) const {
    const auto cost = [&](std::uint32_t w) {
      return std::tuple(w != receiver, machine_of(w) != machine_of(receiver), sent_[w]);
    };
    std::optional<std::uint32_t> best;
    for (std::uint32_t w = 0; w < from_.workers(); ++w)
      if (from_.of(w).term == term && from_.of(w).box.contains(box) && (!best || cost(w) < cost(*best))) best = w;
    return best.value();
  }

  std::uint32_t machine_of(std::uint32_t worker) const { return machines_.empty() ? 0 : machines_[worker]; }

  // Joins boxes that go the same way. The first term of each element is copied before others are added.
  std::vector<Move> listed() {
    std::ranges::stable_sort(drafts_, {}, &Draft::key);
    std::vector<Move> list;
    for (auto first = drafts_.begin(); first != drafts_.end();) {
      const auto last = std::find_if(first, drafts_.end(), [&](const Draft& one) { return one.key() != first->key(); });
      append({first, last}, list);
      first = last;
    }
    return list;
  }

  static void append(std::vector<Draft> same, std::vector<Move>& list) {
    for (std::size_t i = 0; i < same.size(); ++i)
      for (std::size_t j = i + 1; j < same.size();) {
        const auto both = joined(same[i].move.box, same[j].move.box);
        if (!both) {
          ++j;
          continue;
        }
        same[i].move.box = *both;
        same.erase(same.begin() + static_cast<std::ptrdiff_t>(j));
        j = i + 1; // the larger box may now fit others
      }
    for (const Draft& one : same) list.push_back(one.move);
  }

  const Form &from_, &to_;
  const std::span<const std::uint32_t> machines_;
  std::vector<std::int64_t> sent_; // elements, by worker
  std::vector<Draft> drafts_;
};

} // namespace

std::vector<Move> moves(const Form& from, const Form& to, std::span<const std::uint32_t> machines) {
  return from == to ? std::vector<Move>() : Mover(from, to, machines).run();
}

std::int64_t crossing(std::span<const Move> list) {
  std::int64_t elements = 0;
  for (const Move& move : list)
    if (move.from != move.to) elements += move.box.count();
  return elements;
}

std::string_view name_of_moves(const Form& from, const Form& to) {
  const bool one_before = from.only_holder() < from.workers(), one_after = to.only_holder() < to.workers();
  if (from.has_summands()) return "reduce";
  if (from == to || (one_before && to.is_whole())) return "split";
  if (one_before) return one_after ? "bridge" : "slice";
  if (one_after) return "concat";
  if (from.is_whole()) return "slice";
  return to.is_whole() ? "gather" : "exchange";
}

} // namespace dlhost::net
