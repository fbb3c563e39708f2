// How the work of one layer is cut among the workers of a group, and the forms that this gives its tensors. One rule
// serves every split: layers only declare which elements of an operand belong to which units (dlhost/partition.h).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <dlhost/layer.h>
#include <dlhost/partition.h>

#include "net/form.h"

namespace dlhost::net {

// The split along the batch. Every layer has it, unless its rows depend on each other; then it has one if it declares
// one. Sums over the batch (metrics, losses) are summands of the pieces.
Split batch_split(const Setup&);
bool has_batch_split(const Setup&);

class Pieces {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  struct Cut {
    Split split;
    std::vector<std::int64_t> bounds; // of its pieces, in units: [bounds[i], bounds[i + 1])
  };

  // Pieces are numbered like the elements of a grid whose axes are the cuts, the last the fastest. Without cuts there
  // is one piece, the whole layer.
  // `of`: each worker's piece, or none if it has no part in the layer. Requires: each piece is some worker's.
  Pieces(std::vector<Cut>, std::vector<std::uint32_t> of);

  std::uint32_t workers() const { return static_cast<std::uint32_t>(of_.size()); }
  std::uint32_t of(std::uint32_t worker) const { return of_[worker]; }
  const std::vector<Cut>& cuts() const { return cuts_; }

  // The elements of an operand that a piece has; empty for none.
  Box part(const Shape&, std::uint32_t piece, std::size_t operand, std::vector<Split::Operand> Split::*) const;
  std::uint32_t count() const; // of pieces
  // The units of each cut that a piece has.
  std::vector<Split::Range> units(std::uint32_t piece) const;

  // What each worker reads of an input, or of a param.
  Form read(const Shape&, std::size_t operand, std::vector<Split::Operand> Split::*) const;
  // What each worker makes of an output; summands where the split says so.
  Form made(const Shape&, std::size_t output) const;
  // What each worker makes of the gradient of an input or a param: a summand for each piece that reads it. Workers that
  // compute the same piece make copies.
  Form gradient(const Shape&, std::size_t operand, std::vector<Split::Operand> Split::*) const;
  // What each worker needs of an output's gradient.
  Form wanted(const Shape& shape, std::size_t output) const { return made(shape, output).summed(); }

 private:
  // Of each cut, the number of the piece's range.
  std::vector<std::size_t> place_of(std::uint32_t piece) const;
  Form form(const Shape&, std::size_t operand, std::vector<Split::Operand> Split::*,
            std::uint32_t (Pieces::*term)(std::uint32_t piece, std::size_t operand) const) const;
  std::uint32_t one_term(std::uint32_t, std::size_t) const { return 0; }
  std::uint32_t own_term(std::uint32_t piece, std::size_t) const { return piece; }
  std::uint32_t term_of_output(std::uint32_t piece, std::size_t output) const;

  std::vector<Cut> cuts_;
  std::vector<std::uint32_t> of_;
};

} // namespace dlhost::net
