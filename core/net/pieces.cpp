#include "net/pieces.h"

#include <algorithm>

namespace dlhost::net {
namespace {

using Operand = Split::Operand;
using Need = Split::Need;

bool is_metric(const Setup& setup, std::size_t output) {
  return std::ranges::any_of(setup.metrics, [&](const MetricSpec& metric) { return metric.output == output; });
}

// The rows of a tensor that belong to a sample: several, if an axis was folded into axis 0.
Operand along_batch(const Shape& shape, std::int64_t batch) {
  return shape.rank() > 0 && shape[0] % batch == 0 ? along(0, shape[0] / batch) : Operand();
}

// The part of a box that belongs to the units [first, last) of a split.
Box part_of(const Box& box, const Shape& shape, const Operand& operand, std::size_t number, std::int64_t first,
            std::int64_t last) {
  if (operand.need == Need::whole || operand.need == Need::sum) return box;
  if (operand.need == Need::once) return number == 0 ? box : Box::none(shape.rank());
  const auto part = operand.elements({first, last}, shape[operand.axis]);
  return intersection(box, Box::whole(shape).with(operand.axis, part.first, part.last));
}

} // namespace

bool has_batch_split(const Setup& setup) { return !setup.whole_batch; }

Split batch_split(const Setup& setup) {
  Split split{.name = "batch", .length = setup.batch};
  for (const Port& input : setup.inputs) split.inputs.push_back(along_batch(input.desc.shape, setup.batch));
  split.params.resize(setup.params.size());
  for (std::size_t o = 0; o < setup.outputs.size(); ++o)
    split.outputs.push_back(is_metric(setup, o) ? Operand{.need = Need::sum}
                                                : along_batch(setup.outputs[o].desc.shape, setup.batch));
  return split;
}

Pieces::Pieces(std::vector<Cut> cuts, std::vector<std::uint32_t> of) : cuts_(std::move(cuts)), of_(std::move(of)) {}

std::vector<std::size_t> Pieces::place_of(std::uint32_t piece) const {
  std::vector<std::size_t> place(cuts_.size());
  for (std::size_t c = cuts_.size(); c-- > 0;) {
    const std::size_t ranges = cuts_[c].bounds.size() - 1;
    place[c] = piece % ranges;
    piece /= static_cast<std::uint32_t>(ranges);
  }
  return place;
}

std::uint32_t Pieces::count() const {
  std::size_t count = 1;
  for (const Cut& cut : cuts_) count *= cut.bounds.size() - 1;
  return static_cast<std::uint32_t>(count);
}

std::vector<Split::Range> Pieces::units(std::uint32_t piece) const {
  std::vector<Split::Range> units;
  const auto place = place_of(piece);
  for (std::size_t c = 0; c < cuts_.size(); ++c)
    units.push_back({cuts_[c].bounds[place[c]], cuts_[c].bounds[place[c] + 1]});
  return units;
}

Box Pieces::part(const Shape& shape, std::uint32_t piece, std::size_t operand,
                 std::vector<Operand> Split::*operands) const {
  if (piece == none) return Box::none(shape.rank());
  Box box = Box::whole(shape);
  const auto place = place_of(piece);
  for (std::size_t c = 0; c < cuts_.size(); ++c) {
    const auto& bounds = cuts_[c].bounds;
    const std::int64_t first = bounds[place[c]], last = bounds[place[c] + 1];
    if (first == last) return Box::none(shape.rank());
    box = part_of(box, shape, (cuts_[c].split.*operands).at(operand), place[c], first, last);
  }
  return box;
}

Form Pieces::form(const Shape& shape, std::size_t operand, std::vector<Operand> Split::*operands,
                  std::uint32_t (Pieces::*term)(std::uint32_t, std::size_t) const) const {
  std::vector<Held> held;
  for (const std::uint32_t piece : of_)
    held.push_back({part(shape, piece, operand, operands), piece == none ? 0 : (this->*term)(piece, operand)});
  return {shape, std::move(held)};
}

// Pieces that differ only in ranges of other splits make the same term.
std::uint32_t Pieces::term_of_output(std::uint32_t piece, std::size_t output) const {
  const auto place = place_of(piece);
  std::size_t term = 0;
  for (std::size_t c = 0; c < cuts_.size(); ++c)
    if (cuts_[c].split.outputs.at(output).need == Need::sum) term = term * (cuts_[c].bounds.size() - 1) + place[c];
  return static_cast<std::uint32_t>(term);
}

Form Pieces::read(const Shape& shape, std::size_t operand, std::vector<Operand> Split::*operands) const {
  return form(shape, operand, operands, &Pieces::one_term);
}

Form Pieces::made(const Shape& shape, std::size_t output) const {
  return form(shape, output, &Split::outputs, &Pieces::term_of_output);
}

Form Pieces::gradient(const Shape& shape, std::size_t operand, std::vector<Operand> Split::*operands) const {
  return form(shape, operand, operands, &Pieces::own_term);
}

} // namespace dlhost::net
