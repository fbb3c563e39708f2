// Ops that move elements: reorder, transpose, box. Elements that keep their dtype keep their bits.
#include "geometry.h"
#include "launch.h"
#include "number.h"
#include "prepare.h"

namespace dlhost::plugins::cuda {

namespace {

// Moves an element's bits unchanged.
struct Bits {
  std::int32_t size;
  DLHOST_BODY void operator()(void* to, std::int64_t t, const void* from, std::int64_t f) const {
    switch (size) {
    case 8: static_cast<std::uint64_t*>(to)[t] = static_cast<const std::uint64_t*>(from)[f]; return;
    case 4: static_cast<std::uint32_t*>(to)[t] = static_cast<const std::uint32_t*>(from)[f]; return;
    case 2: static_cast<std::uint16_t*>(to)[t] = static_cast<const std::uint16_t*>(from)[f]; return;
    default: static_cast<std::uint8_t*>(to)[t] = static_cast<const std::uint8_t*>(from)[f]; return;
    }
  }
};

// Converts an element to another dtype: through f32, which represents all narrow types exactly; through f64 if one of
// the two is wider.
template <class T> struct Cast {
  DType from_type, to_type;
  DLHOST_BODY void operator()(void* to, std::int64_t t, const void* from, std::int64_t f) const {
    store_as<T>(to_type, to, t, load_as<T>(from_type, from, f));
  }
};

template <class Move> struct Same {
  const void* src;
  void* dst;
  Move move;
  DLHOST_BODY void operator()(std::int64_t i) const { move(dst, i, src, i); }
};

// Another format: maps an element's place in dst to its place in src.
template <class Move> struct Relaid {
  const void* src;
  void* dst;
  Move move;
  Lie from, to;
  DLHOST_BODY void operator()(std::int64_t i) const {
    std::int64_t c = 0, at = 0;
    const std::int64_t n = to.take_apart(i, c, at);
    move(dst, i, src, from.of(n, c, at));
  }
};
// For few channels, as in pictures: all channels of a place at once.
template <class Move> struct RelaidPlace {
  const void* src;
  void* dst;
  Move move;
  Lie from, to;
  DLHOST_BODY void operator()(std::int64_t i) const {
    const std::int64_t at = last_digit(i, to.places);
    for (std::int64_t c = 0; c < to.channels; ++c) move(dst, to.of(i, c, at), src, from.of(i, c, at));
  }
};

bool wide(DType type) { return type == DType::f64 || type == DType::i64 || type == DType::i32; }

class Reorder final : public KernelOp {
 public:
  explicit Reorder(const ReorderSpec& spec) {
    in = {plain_of(spec.src)};
    out = {plain_of(spec.dst)};
    kernel = "cuda reorder";
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    const DType from = in[0].dtype, to = out[0].dtype;
    if (from == to)
      move_all(stream, call, Bits{static_cast<std::int32_t>(size_of(from))});
    else if (wide(from) || wide(to))
      move_all(stream, call, Cast<double>{from, to});
    else
      move_all(stream, call, Cast<float>{from, to});
  }

 private:
  template <class Move> void move_all(WorkStream& stream, const Call& call, const Move& move) {
    const std::int64_t count = in[0].count();
    if (in[0].format == out[0].format) return each(stream, count, Same<Move>{call.in[0], call.out[0], move});
    const Lie from = lie_of(in[0]), to = lie_of(out[0]);
    constexpr std::int64_t few_channels = 8;
    if (to.channels <= few_channels)
      each(stream, in[0].shape[0] * to.places, RelaidPlace<Move>{call.in[0], call.out[0], move, from, to});
    else
      each(stream, count, Relaid<Move>{call.in[0], call.out[0], move, from, to});
  }
};

// An element's place in dst; its place in src follows from the strides.
struct Transposed {
  const void* src;
  void* dst;
  std::int32_t size;
  Dims dims; // of dst
  std::int64_t stride[max_rank];
  DLHOST_BODY void operator()(std::int64_t i) const {
    std::int64_t rest = i, from = 0;
    for (std::int32_t axis = dims.rank; axis-- > 0;) from += last_digit(rest, dims.size[axis]) * stride[axis];
    Bits{size}(dst, i, src, from);
  }
};

class Transpose final : public KernelOp {
 public:
  explicit Transpose(const TransposeSpec& spec) : order_(spec.order) {
    in = {plain_of(spec.src)};
    out = {plain_of(spec.dst)};
    kernel = "cuda transpose";
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    Transposed body{call.in[0], call.out[0], static_cast<std::int32_t>(size_of(in[0].dtype)), Dims(out[0].shape), {}};
    for (std::size_t axis = 0; axis < order_.size(); ++axis) body.stride[axis] = in[0].shape.past(order_[axis] + 1);
    each(stream, out[0].count(), body);
  }

 private:
  std::vector<std::size_t> order_;
};

struct Boxed {
  const void* src;
  void* dst;
  DType type;
  bool add;
  Dims box;
  std::int64_t from, to; // of the box's first element
  std::int64_t from_stride[max_rank], to_stride[max_rank];
  DLHOST_BODY void operator()(std::int64_t i) const {
    std::int64_t f = from, t = to;
    for (std::int32_t axis = box.rank; axis-- > 0;) {
      const std::int64_t at = last_digit(i, box.size[axis]);
      f += at * from_stride[axis];
      t += at * to_stride[axis];
    }
    if (!add)
      Bits{static_cast<std::int32_t>(size_of(type))}(dst, t, src, f);
    else
      store(type, dst, t, load(type, dst, t) + load(type, src, f));
  }
};

class Box final : public KernelOp {
 public:
  explicit Box(const BoxSpec& spec) : spec_(spec) {
    in = {plain_of(spec.src)};
    out = {plain_of(spec.dst)};
    kernel = "cuda box";
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    Boxed body{.src = call.in[0], .dst = call.out[0], .type = in[0].dtype, .add = spec_.add, .box = Dims(spec_.box)};
    for (std::size_t axis = 0; axis < spec_.box.rank(); ++axis) {
      body.from_stride[axis] = in[0].shape.past(axis + 1);
      body.to_stride[axis] = out[0].shape.past(axis + 1);
      body.from += spec_.from[axis] * body.from_stride[axis];
      body.to += spec_.to[axis] * body.to_stride[axis];
    }
    each(stream, spec_.box.count(), body);
  }

 private:
  BoxSpec spec_;
};

bool holds_box(const Shape& whole, const Shape& corner, const Shape& box) {
  if (whole.rank() != box.rank() || corner.rank() != box.rank()) return false;
  for (std::size_t axis = 0; axis < box.rank(); ++axis)
    if (corner[axis] < 0 || box[axis] < 0 || corner[axis] + box[axis] > whole[axis]) return false;
  return true;
}

} // namespace

Prepared prepare_own(const ReorderSpec& spec) {
  if (spec.src.shape != spec.dst.shape)
    return Status::invalid("reorder: src is ", to_string(spec.src.shape), ", but dst is ", to_string(spec.dst.shape));
  return std::unique_ptr<Op>(std::make_unique<Reorder>(spec));
}

Prepared prepare_own(const TransposeSpec& spec) {
  DLHOST_TRY(need_plain("transpose", {&spec.src, &spec.dst}));
  const std::size_t rank = spec.order.size();
  bool fits = spec.src.dtype == spec.dst.dtype && rank == spec.src.shape.rank() && rank == spec.dst.shape.rank();
  std::uint32_t seen = 0;
  for (std::size_t axis = 0; fits && axis < rank; ++axis) {
    fits = spec.order[axis] < rank && spec.dst.shape[axis] == spec.src.shape[spec.order[axis]];
    seen |= 1U << spec.order[axis];
  }
  if (!fits || seen + 1 != 1U << rank)
    return Status::invalid("transpose: src ", to_string(spec.src.shape), " and dst ", to_string(spec.dst.shape),
                           " must be of one dtype, and dst's axes those of src in `order`");
  return std::unique_ptr<Op>(std::make_unique<Transpose>(spec));
}

Prepared prepare_own(const BoxSpec& spec) {
  DLHOST_TRY(need_plain("box", {&spec.src, &spec.dst}));
  if (spec.src.dtype != spec.dst.dtype || !holds_box(spec.src.shape, spec.from, spec.box) ||
      !holds_box(spec.dst.shape, spec.to, spec.box))
    return Status::invalid("box: ", to_string(spec.box), " from ", to_string(spec.from), " in ",
                           to_string(spec.src.shape), " to ", to_string(spec.to), " in ", to_string(spec.dst.shape),
                           " does not fit, or the dtypes differ");
  if (spec.add && !is_float(spec.src.dtype))
    return Status::unsupported("cuda: boxes of ", name_of(spec.src.dtype), " are copied, not added");
  return std::unique_ptr<Op>(std::make_unique<Box>(spec));
}

} // namespace dlhost::plugins::cuda
