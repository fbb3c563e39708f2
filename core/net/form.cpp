#include "net/form.h"

#include <algorithm>

#include <dlhost/status.h>

namespace dlhost::net {
namespace {

bool are_summands(const Held& a, const Held& b) { return a.term != b.term && !intersection(a.box, b.box).is_empty(); }

bool any_summands(const std::vector<Held>& held) {
  for (std::size_t i = 0; i < held.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (are_summands(held[i], held[j])) return true;
  return false;
}

// Equal forms get equal numbers.
void number_terms(std::vector<Held>& held) {
  std::vector<std::uint32_t> terms;
  for (Held& one : held) {
    if (one.box.is_empty()) {
      one = {.box = Box::none(one.box.shape.rank()), .term = 0};
      continue;
    }
    const auto found = std::ranges::find(terms, one.term);
    const auto number = static_cast<std::uint32_t>(found - terms.begin());
    if (found == terms.end()) terms.push_back(one.term);
    one.term = number;
  }
}

// The axis that all boxes cut one after another, in the order of workers, the other axes being whole; rank: none.
std::size_t axis_of_cut(const Form& form) {
  const Shape& shape = form.shape();
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    std::int64_t reached = 0;
    const bool is_cut = std::ranges::all_of(form.all(), [&](const Held& held) {
      if (held.box.is_empty()) return true;
      const Box wanted = Box::whole(shape).with(axis, reached, reached + held.box.shape[axis]);
      reached += held.box.shape[axis];
      return held.box == wanted;
    });
    if (is_cut && reached == shape[axis]) return axis;
  }
  return shape.rank();
}

} // namespace

Form::Form(const Shape& shape, std::vector<Held> held)
    : shape_(shape), held_(std::move(held)), has_summands_(any_summands(held_)) {
  if (!has_summands_)
    for (Held& one : held_) one.term = 0;
  number_terms(held_);
}

Form Form::whole(const Shape& shape, std::uint32_t workers) {
  return {shape, std::vector<Held>(workers, {.box = Box::whole(shape)})};
}

Form Form::at(const Shape& shape, std::uint32_t workers, std::uint32_t worker) {
  std::vector<Held> held(workers, {.box = Box::none(shape.rank())});
  held[worker].box = Box::whole(shape);
  return {shape, std::move(held)};
}

Form Form::cut(const Shape& shape, std::size_t axis, std::span<const std::int64_t> bounds) {
  std::vector<Held> held;
  for (std::size_t w = 0; w + 1 < bounds.size(); ++w)
    held.push_back({.box = Box::whole(shape).with(axis, bounds[w], bounds[w + 1])});
  return {shape, std::move(held)};
}

Form Form::summands(const Shape& shape, std::uint32_t workers) {
  std::vector<Held> held;
  for (std::uint32_t w = 0; w < workers; ++w) held.push_back({.box = Box::whole(shape), .term = w});
  return {shape, std::move(held)};
}

bool Form::is_whole() const {
  return !has_summands_ && std::ranges::all_of(held_, [&](const Held& held) { return held.box.shape == shape_; });
}

std::uint32_t Form::only_holder() const {
  const auto holds = [](const Held& held) { return !held.box.is_empty(); };
  if (std::ranges::count_if(held_, holds) != 1) return workers();
  return static_cast<std::uint32_t>(std::ranges::find_if(held_, holds) - held_.begin());
}

Form Form::summed() const {
  std::vector<Held> held = held_;
  for (Held& one : held) one.term = 0;
  return {shape_, std::move(held)};
}

std::string to_string(const Form& form) {
  if (form.only_holder() < form.workers() && form.workers() > 1) return concat("on worker ", form.only_holder());
  const bool all_whole =
      std::ranges::all_of(form.all(), [&](const Held& held) { return held.box.shape == form.shape(); });
  if (form.has_summands()) return all_whole ? "summands" : "boxes of summands";
  if (all_whole) return "whole";
  const std::size_t axis = axis_of_cut(form);
  if (axis == form.shape().rank()) return "boxes";
  const auto pieces = std::ranges::count_if(form.all(), [](const Held& held) { return !held.box.is_empty(); });
  return concat("axis ", axis, " in ", pieces);
}

} // namespace dlhost::net
