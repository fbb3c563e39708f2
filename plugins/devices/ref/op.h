// Shared by all ops of ref. An op copies its operands to scratch, as plain arrays of its compute type (f32, or f64 if
// wide), runs its loops over these, and copies the results back. So only load and store know dtypes and formats, and an
// output may always alias an input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dlhost/host_op.h>
#include <dlhost/status.h>

#include "element.h"
#include "format.h"

namespace dlhost::plugins::ref {

using Call = HostCall;

inline std::int64_t counted_rows(const Call& call, std::int64_t all) {
  return call.dynamic.valid < 0 ? all : std::min(all, call.dynamic.valid);
}

// An array of the op in scratch.
template <class T> struct Room {
  std::size_t offset = 0;
  T* in(const Call& call) const { return reinterpret_cast<T*>(call.scratch + offset); }
};

template <class T> void load(const TensorDesc& desc, const void* from, T* into) {
  with_stored(desc.dtype, [&]<class Stored>(Stored) {
    const auto* bytes = static_cast<const Stored*>(from);
    each_place(desc, [&](std::int64_t i, std::int64_t place) { into[i] = loaded<T>(bytes[place]); });
  });
}

// Padding is set to zero.
template <class T> void store(const TensorDesc& desc, const T* from, void* into) {
  with_stored(desc.dtype, [&]<class Stored>(Stored) {
    auto* bytes = static_cast<Stored*>(into);
    if (!desc.format.is_plain()) std::fill_n(bytes, stored_count(desc), Stored{});
    each_place(desc, [&](std::int64_t i, std::int64_t place) { bytes[place] = stored<Stored>(from[i]); });
  });
}

class RefOp : public HostOp {
 protected:
  template <class T> Room<T> room(std::int64_t count) {
    const Room<T> made{scratch_bytes};
    scratch_bytes += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return made;
  }
};

// A tensor of an op: its settled description, and its array in scratch.
template <class T> struct Operand {
  TensorDesc desc;
  Room<T> room;
  std::size_t which = 0; // of the op's inputs or outputs

  T* read(const Call& call) const {
    load(desc, call.in[which], room.in(call));
    return room.in(call);
  }
  T* fresh(const Call& call) const { return room.in(call); }
  T* zeroed(const Call& call) const {
    std::fill_n(room.in(call), desc.count(), T{});
    return room.in(call);
  }
  void write(const Call& call) const { store(desc, room.in(call), call.out[which]); }
};

// The device's options.
struct Manner {
  bool wide = false;      // computes in f64
  bool in_blocks = false; // resolves `any` to blocks
};

// An op that computes in T.
template <class T> class Loops : public RefOp {
 public:
  explicit Loops(const Manner& manner) : manner_(manner) {}

 protected:
  TensorDesc settled(const TensorDesc& desc) const {
    if (!desc.format.is_any()) return desc;
    return desc.as(manner_.in_blocks && can_block(desc.shape) ? blocked : Format::plain());
  }
  template <class U = T> Operand<U> takes(const TensorDesc& desc) {
    in.push_back(settled(desc));
    return {in.back(), room<U>(desc.count()), in.size() - 1};
  }
  template <class U = T> Operand<U> gives(const TensorDesc& desc) {
    out.push_back(settled(desc));
    return {out.back(), room<U>(desc.count()), out.size() - 1};
  }

 private:
  Manner manner_;
};

inline TensorDesc f32_of(const Shape& shape) { return {DType::f32, shape, {}}; }

// body(first, last, sum) adds rows [first, last) to `sum`, an array of `size`. Without blocks it runs once over all
// rows. With blocks each block has an array of its own, and these are added pairwise in a tree that depends on their
// number alone. `partials` has room for one array a block.
template <class T, class Body>
void sum_in_blocks(std::int64_t rows, std::int64_t block_rows, std::int64_t size, T* sum, T* partials, Body&& body) {
  std::fill_n(sum, size, T{});
  if (block_rows <= 0 || block_rows >= rows) return body(std::int64_t{0}, rows, sum);
  const std::int64_t blocks = (rows + block_rows - 1) / block_rows;
  std::fill_n(partials, blocks * size, T{});
  for (std::int64_t b = 0; b < blocks; ++b)
    body(b * block_rows, std::min(rows, (b + 1) * block_rows), partials + b * size);
  for (std::int64_t step = 1; step < blocks; step *= 2)
    for (std::int64_t b = 0; b + step < blocks; b += 2 * step)
      for (std::int64_t i = 0; i < size; ++i) partials[b * size + i] += partials[(b + step) * size + i];
  std::copy_n(partials, size, sum);
}

// Elements of `partials` for sum_in_blocks.
inline std::int64_t partials_size(std::int64_t rows, std::int64_t block_rows, std::int64_t size) {
  return block_rows <= 0 || block_rows >= rows ? 0 : (rows + block_rows - 1) / block_rows * size;
}

} // namespace dlhost::plugins::ref
