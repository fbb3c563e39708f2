// Ops that move elements: reorder, transpose, box. Elements that keep their dtype keep their bits.
#include "make.h"

namespace dlhost::plugins::ref {

namespace {

// Copies count() elements; from(i) and to(i) are their places.
template <class From, class To>
void move_elements(DType type, std::int64_t count, const void* src, void* dst, From&& from, To&& to) {
  with_stored(type, [&]<class Stored>(Stored) {
    for (std::int64_t i = 0; i < count; ++i)
      static_cast<Stored*>(dst)[to(i)] = static_cast<const Stored*>(src)[from(i)];
  });
}

template <class T> class Reorder : public Loops<T> {
 public:
  Reorder(const ReorderSpec& spec, const Manner& manner, const Choice&) : Loops<T>(manner) {
    this->in = {this->settled(spec.src)};
    this->out = {this->settled(spec.dst)};
    if (spec.src.dtype != spec.dst.dtype) values_ = this->template room<double>(spec.src.count());
  }
  Status compute(const Call& call) override {
    const TensorDesc &src = this->in[0], &dst = this->out[0];
    if (src.dtype != dst.dtype) {
      load(src, call.in[0], values_.in(call));
      store(dst, values_.in(call), call.out[0]);
      return {};
    }
    if (!dst.format.is_plain())
      std::fill_n(static_cast<std::byte*>(call.out[0]),
                  stored_count(dst) * static_cast<std::int64_t>(size_of(dst.dtype)), std::byte{});
    move_elements(
        src.dtype, src.count(), call.in[0], call.out[0], [&](std::int64_t i) { return place_of(src, i); },
        [&](std::int64_t i) { return place_of(dst, i); });
    return {};
  }

 private:
  Room<double> values_;
};

template <class T> class Transpose : public Loops<T> {
 public:
  Transpose(const TransposeSpec& spec, const Manner& manner, const Choice&) : Loops<T>(manner), order_(spec.order) {
    this->in = {spec.src};
    this->out = {spec.dst};
  }
  Status compute(const Call& call) override {
    const Shape &src = this->in[0].shape, &dst = this->out[0].shape;
    const auto from = [&](std::int64_t i) {
      std::int64_t place = 0;
      for (std::size_t axis = dst.rank(); axis-- > 0; i /= dst[axis])
        place += i % dst[axis] * src.past(order_[axis] + 1);
      return place;
    };
    move_elements(this->in[0].dtype, dst.count(), call.in[0], call.out[0], from, [](std::int64_t i) { return i; });
    return {};
  }

 private:
  std::vector<std::size_t> order_;
};

template <class T> class Box : public Loops<T> {
 public:
  Box(const BoxSpec& spec, const Manner& manner, const Choice&) : Loops<T>(manner), spec_(spec) {
    this->in = {spec_.src};
    this->out = {spec_.dst};
  }
  Status compute(const Call& call) override {
    const auto from = [&](std::int64_t i) { return place(spec_.src, spec_.from, i); };
    const auto to = [&](std::int64_t i) { return place(spec_.dst, spec_.to, i); };
    const std::int64_t count = spec_.box.count();
    if (!spec_.add) {
      move_elements(spec_.src.dtype, count, call.in[0], call.out[0], from, to);
      return {};
    }
    with_stored(spec_.src.dtype, [&]<class Stored>(Stored) {
      const auto* src = static_cast<const Stored*>(call.in[0]);
      auto* dst = static_cast<Stored*>(call.out[0]);
      for (std::int64_t i = 0; i < count; ++i) {
        Stored& sum = dst[to(i)];
        sum = stored<Stored>(loaded<T>(sum) + loaded<T>(src[from(i)]));
      }
    });
    return {};
  }

 private:
  // The place of element i of the box in a tensor that holds the box from `corner` on.
  std::int64_t place(const TensorDesc& desc, const Shape& corner, std::int64_t i) const {
    std::int64_t element = 0;
    for (std::size_t axis = corner.rank(); axis-- > 0; i /= spec_.box[axis])
      element += (corner[axis] + i % spec_.box[axis]) * desc.shape.past(axis + 1);
    return place_of(desc, element);
  }

  BoxSpec spec_;
};

bool holds(const Shape& whole, const Shape& corner, const Shape& box) {
  if (whole.rank() != box.rank() || corner.rank() != box.rank()) return false;
  for (std::size_t axis = 0; axis < box.rank(); ++axis)
    if (corner[axis] < 0 || box[axis] < 0 || corner[axis] + box[axis] > whole[axis]) return false;
  return true;
}

TensorDesc plain_if_any(const TensorDesc& desc) { return desc.format.is_any() ? desc.as(Format::plain()) : desc; }

} // namespace

MadeOp make_op(const ReorderSpec& spec, const Manner& manner, const Choice& choice) {
  if (spec.src.shape != spec.dst.shape)
    return Status::invalid("reorder: src is ", to_string(spec.src.shape), ", but dst is ", to_string(spec.dst.shape));
  return in_its_type<Reorder>(spec, manner, choice);
}

MadeOp make_op(const TransposeSpec& given, const Manner& manner, const Choice& choice) {
  const TransposeSpec spec{plain_if_any(given.src), plain_if_any(given.dst), given.order};
  bool fits = spec.src.dtype == spec.dst.dtype && spec.src.format.is_plain() && spec.dst.format.is_plain() &&
              spec.order.size() == spec.src.shape.rank() && spec.order.size() == spec.dst.shape.rank();
  std::uint32_t seen = 0;
  for (std::size_t axis = 0; fits && axis < spec.order.size(); ++axis) {
    fits = spec.order[axis] < spec.order.size() && spec.dst.shape[axis] == spec.src.shape[spec.order[axis]];
    seen |= 1U << spec.order[axis];
  }
  if (!fits || seen + 1 != 1U << spec.order.size())
    return Status::invalid("transpose: src ", to_string(spec.src.shape), " and dst ", to_string(spec.dst.shape),
                           " must be plain, of one dtype, and dst's axes those of src in `order`");
  return in_its_type<Transpose>(spec, manner, choice);
}

MadeOp make_op(const BoxSpec& given, const Manner& manner, const Choice& choice) {
  BoxSpec spec = given;
  spec.src = plain_if_any(spec.src);
  spec.dst = plain_if_any(spec.dst);
  if (spec.src.dtype != spec.dst.dtype || !holds(spec.src.shape, spec.from, spec.box) ||
      !holds(spec.dst.shape, spec.to, spec.box))
    return Status::invalid("box: ", to_string(spec.box), " from ", to_string(spec.from), " in ",
                           to_string(spec.src.shape), " to ", to_string(spec.to), " in ", to_string(spec.dst.shape),
                           " does not fit, or the dtypes differ");
  return in_its_type<Box>(spec, manner, choice);
}

} // namespace dlhost::plugins::ref
