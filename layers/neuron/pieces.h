// A tensor and its pieces along one axis, and the ops that copy between them (concat, slice, split). Plain.
#pragma once

#include <memory>
#include <vector>

#include <dlhost/layer.h>
#include <dlhost/schema.h>

namespace dlhost::plugins {

struct PiecesOptions {
  std::int64_t axis = 1;
};

template <class Options> SchemaOf<Options> along_axis(SchemaOf<Options> schema, std::string doc) {
  return schema.option("axis", static_cast<std::int64_t Options::*>(&PiecesOptions::axis), std::move(doc),
                       between(1, static_cast<double>(max_rank - 1)));
}

// Indices and labels keep their dtype; features get the net's compute dtype.
inline DType kept_dtype(const Setup& s) {
  const DType dtype = s.inputs[0].desc.dtype;
  return is_float(dtype) ? s.compute : dtype;
}

// Copies pieces out of the whole, or into it.
class Pieces {
 public:
  enum class Way { cut, join };

  // Prepares an op for each wanted piece; numbers stay those of the pieces. `from`: where piece 0 starts along the
  // axis. `add`: adds to the destination.
  template <class IsWanted>
  Status prepare(Prepare& p, Way way, Role role, const TensorDesc& whole, std::size_t axis,
                 const std::vector<TensorDesc>& pieces, std::int64_t from, IsWanted wanted, bool add = false) {
    ops_.resize(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      BoxSpec spec;
      const Shape origin = Shape(std::vector<std::int64_t>(whole.shape.rank(), 0));
      const Shape place = origin.with(axis, from);
      spec.src = way == Way::cut ? whole : pieces[i];
      spec.dst = way == Way::cut ? pieces[i] : whole;
      spec.from = way == Way::cut ? place : origin;
      spec.to = way == Way::cut ? origin : place;
      spec.box = pieces[i].shape;
      spec.add = add;
      from += pieces[i].shape[axis];
      if (wanted(i)) {
        DLHOST_ASSIGN(ops_[i], p.op(spec, role));
      }
    }
    return {};
  }

  std::size_t count() const { return ops_.size(); }
  void copy(std::size_t piece, const Pass& pass, Frame& f, const void* src, void* dst) const {
    if (ops_[piece]) ops_[piece]->run(*f.stream, {src}, {dst}, f.scratch, f.dynamic(pass));
  }

 private:
  std::vector<std::unique_ptr<Op>> ops_;
};

inline bool every_piece(std::size_t) { return true; }

} // namespace dlhost::plugins
