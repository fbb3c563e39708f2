// The form of a tensor among the workers of a group: which box of it each worker has. A cut tensor, a whole one, one
// that is placed on one worker, a grid, a halo and summands are all forms; moves.h makes one form from another.
//
// Each box belongs to a term. Boxes of one term that overlap are copies. Boxes of different terms that overlap are
// summands: an element of the tensor is the sum over the terms that have it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "net/box.h"

namespace dlhost::net {

// The part of a tensor that a worker has; an empty box for none.
struct Held {
  Box box;
  std::uint32_t term = 0;
  bool operator==(const Held&) const = default;
};

class Form {
 public:
  // Requires: rank > 0; the boxes lie in the tensor.
  Form(const Shape&, std::vector<Held>);

  // Each worker has the whole tensor.
  static Form whole(const Shape&, std::uint32_t workers);
  // One worker has the whole tensor, the others nothing.
  static Form at(const Shape&, std::uint32_t workers, std::uint32_t worker);
  // Worker w has the elements [bounds[w], bounds[w + 1]) of one axis. The workers are those of the bounds.
  static Form cut(const Shape&, std::size_t axis, std::span<const std::int64_t> bounds);
  // Each worker has a summand of the whole tensor.
  static Form summands(const Shape&, std::uint32_t workers);

  const Shape& shape() const { return shape_; }
  std::uint32_t workers() const { return static_cast<std::uint32_t>(held_.size()); }
  const Held& of(std::uint32_t worker) const { return held_[worker]; }
  const std::vector<Held>& all() const { return held_; }
  bool has_summands() const { return has_summands_; }
  bool is_whole() const; // each worker has all of it, and no summands
  // The only worker with elements; workers(): there are several, or none.
  std::uint32_t only_holder() const;
  // The same boxes as copies. Where boxes are summands, this is the form of their sum.
  Form summed() const;

  // True if the workers have the same: equal forms need no moves.
  bool operator==(const Form&) const = default;

 private:
  Shape shape_;
  std::vector<Held> held_; // terms are numbered in the order of workers; all are 0 if no boxes are summands
  bool has_summands_ = false;
};

// "whole", "axis 0 in 3", "summands", "on worker 1", "boxes".
std::string to_string(const Form&);

} // namespace dlhost::net
