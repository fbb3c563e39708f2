// Copies or adds a box of one plain tensor into another.
#include <cstring>

#include <dlhost/parallel.h>

#include "map/kernels.h"
#include "prepare.h"

namespace dlhost::plugins::cpu {
namespace {

constexpr std::int64_t grain_bytes = 1 << 16;

class Box final : public Op {
 public:
  explicit Box(const BoxSpec& spec) : add_(spec.add), type_(spec.src.dtype) {
    in = {spec.src.as(Format::plain())};
    out = {spec.dst.as(Format::plain())};
    // Inner axes that both tensors have whole join the row, which is copied as one piece.
    auto rank = spec.box.rank();
    row_ = rank > 0 ? spec.box[rank - 1] : 1;
    std::size_t outer = rank > 0 ? rank - 1 : 0;
    while (outer > 0 && spec.box[outer] == spec.src.shape[outer] && spec.box[outer] == spec.dst.shape[outer])
      row_ *= spec.box[--outer];
    for (std::size_t axis = 0; axis < rank; ++axis) {
      src_start_ += spec.from[axis] * spec.src.shape.past(axis + 1);
      dst_start_ += spec.to[axis] * spec.dst.shape.past(axis + 1);
    }
    for (std::size_t axis = 0; axis < outer; ++axis) {
      extents_.push_back(spec.box[axis]);
      src_strides_.push_back(spec.src.shape.past(axis + 1));
      dst_strides_.push_back(spec.dst.shape.past(axis + 1));
    }
    operations = add_ ? static_cast<double>(spec.box.count()) : 0;
    kernel = "box";
  }

  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void*,
               const Dynamic&) override {
    const auto size = static_cast<std::int64_t>(size_of(type_));
    const auto rows = row_ > 0 ? extents_.count() : 0;
    parallel_ranges(rows, std::max<std::int64_t>(1, grain_bytes / (row_ * size)),
                    [&](std::int64_t first, std::int64_t last) {
                      for (auto number = first; number < last; ++number) {
                        std::int64_t left = number, src = src_start_, dst = dst_start_;
                        for (auto axis = extents_.rank(); axis-- > 0;) {
                          src += left % extents_[axis] * src_strides_[axis];
                          dst += left % extents_[axis] * dst_strides_[axis];
                          left /= extents_[axis];
                        }
                        place(static_cast<const std::byte*>(inputs[0]) + src * size,
                              static_cast<std::byte*>(outputs[0]) + dst * size);
                      }
                    });
  }

 private:
  void place(const std::byte* src, std::byte* dst) const {
    if (!add_) {
      std::memcpy(dst, src, static_cast<std::size_t>(row_) * size_of(type_));
      return;
    }
    const auto& kernels = map_kernels();
    if (type_ == DType::f32) {
      kernels.accumulate(reinterpret_cast<const float*>(src), reinterpret_cast<float*>(dst), row_);
      return;
    }
    float sums[chunk], values[chunk];
    const auto size = static_cast<std::int64_t>(size_of(type_));
    for (std::int64_t first = 0; first < row_; first += chunk) {
      const auto count = std::min(chunk, row_ - first);
      kernels.load(type_, src + first * size, values, count);
      kernels.load(type_, dst + first * size, sums, count);
      kernels.accumulate(values, sums, count);
      kernels.store(type_, sums, dst + first * size, count);
    }
  }

  bool add_;
  DType type_;
  std::int64_t row_ = 1, src_start_ = 0, dst_start_ = 0;
  Shape extents_, src_strides_, dst_strides_; // of the axes outside of the rows
};

bool inside(const Shape& at, const Shape& box, const Shape& whole) {
  if (at.rank() != whole.rank() || box.rank() != whole.rank()) return false;
  for (std::size_t axis = 0; axis < whole.rank(); ++axis)
    if (at[axis] < 0 || box[axis] < 0 || at[axis] + box[axis] > whole[axis]) return false;
  return true;
}

} // namespace

Prepared prepare(const BoxSpec& spec, const Request&) {
  if (!inside(spec.from, spec.box, spec.src.shape) || !inside(spec.to, spec.box, spec.dst.shape))
    return Status::invalid("box: ", to_string(spec.box), " at ", to_string(spec.from), " of ",
                           to_string(spec.src.shape), " to ", to_string(spec.to), " of ", to_string(spec.dst.shape),
                           " reaches outside");
  if (spec.src.dtype != spec.dst.dtype) return Status::unsupported("box: both tensors need one dtype");
  for (const auto* desc : {&spec.src, &spec.dst})
    if (!desc->format.is_plain() && !desc->format.is_any()) return Status::unsupported("box: plain tensors only");
  return std::unique_ptr<Op>(std::make_unique<Box>(spec));
}

} // namespace dlhost::plugins::cpu
