// The index space of an elementwise op with broadcasting and sums: the fewest axes that all its tensors can be walked
// along together. Made once, when the op is prepared.
#pragma once

#include <cstdint>
#include <vector>

#include <dlhost/ops.h>

namespace dlhost::plugins::cpu {

class Space {
 public:
  // Strides of one tensor, in elements; 0 along axes that are repeated or summed.
  struct Strides {
    std::int64_t along[max_rank] = {};
  };

  Space(const std::vector<TensorDesc>& in, const std::vector<TensorDesc>& out);

  const Shape& full() const { return full_; } // as in the spec
  const Shape& axes() const { return axes_; } // joined; at least one
  std::int64_t count() const { return full_.count(); }
  const Strides& input(std::size_t i) const { return strides_[i]; }
  const Strides& output(std::size_t i) const { return strides_[inputs_ + i]; }
  bool sums(std::size_t output) const; // over any axis
  bool sums_outermost(std::size_t output) const;

  // Calls call(offset, length) for the pieces of [first, first + count) along the innermost axis, with the tensor's
  // offset of each piece.
  template <class Call> void walk(const Strides& strides, std::int64_t first, std::int64_t count, Call&& call) const {
    const auto inner = axes_.rank() - 1;
    std::int64_t index[max_rank] = {}, left = first, offset = 0;
    for (std::size_t axis = axes_.rank(); axis-- > 0;) {
      index[axis] = left % axes_[axis];
      left /= axes_[axis];
      offset += index[axis] * strides.along[axis];
    }
    while (count > 0) {
      const auto length = std::min(count, axes_[inner] - index[inner]);
      call(offset, length);
      count -= length;
      offset -= index[inner] * strides.along[inner];
      index[inner] = 0;
      for (std::size_t axis = inner; axis-- > 0;) {
        offset += strides.along[axis];
        if (++index[axis] < axes_[axis]) break;
        offset -= axes_[axis] * strides.along[axis];
        index[axis] = 0;
      }
    }
  }

 private:
  void add(const TensorDesc&);
  void join();
  Shape full_, axes_;
  std::size_t inputs_;
  std::vector<Strides> strides_;
};

} // namespace dlhost::plugins::cpu
