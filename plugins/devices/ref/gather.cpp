#include "make.h"

namespace dlhost::plugins::ref {

namespace {

template <class T> class Gather : public Loops<T> {
 public:
  Gather(const GatherSpec& spec, const Manner& manner, const Choice& choice)
      : Loops<T>(manner), role_(spec.role), rows_(spec.indices.shape.rank() ? spec.indices.shape[0] : 1),
        block_rows_(choice.block_samples) {
    if (role_ == Role::feature) {
      table_ = this->takes(plain(spec.table));
      indices_ = this->template takes<std::int64_t>(plain(spec.indices));
      y_ = this->gives(plain(spec.y));
    } else {
      indices_ = this->template takes<std::int64_t>(plain(spec.indices));
      y_ = this->takes(plain(spec.y));
      table_ = this->gives(plain(spec.table));
      partials_ = this->template room<T>(partials_size(rows_, block_rows_, spec.table.count()));
    }
  }

  Status compute(const Call& call) override {
    const std::int64_t* indices = indices_.read(call);
    const std::int64_t count = indices_.desc.count(), rows = table_.desc.shape[0], size = table_.desc.shape.past(1);
    for (std::int64_t i = 0; i < count; ++i)
      if (indices[i] < 0 || indices[i] >= rows)
        return Status::invalid("index ", indices[i], " at place ", i, " is not in [0, ", rows, ")");
    if (role_ == Role::feature) {
      const T* table = table_.read(call);
      for (std::int64_t i = 0; i < count; ++i) std::copy_n(table + indices[i] * size, size, y_.fresh(call) + i * size);
      y_.write(call);
      return {};
    }
    const T* dy = y_.read(call);
    const std::int64_t row = count / std::max<std::int64_t>(rows_, 1);
    sum_in_blocks(rows_, block_rows_, table_.desc.count(), table_.fresh(call), partials_.in(call),
                  [&](std::int64_t first, std::int64_t last, T* sum) {
                    for (std::int64_t i = first * row * size; i < last * row * size; ++i)
                      sum[indices[i / size] * size + i % size] += dy[i];
                  });
    table_.write(call);
    return {};
  }

 private:
  static TensorDesc plain(const TensorDesc& desc) { return desc.format.is_any() ? desc.as(Format::plain()) : desc; }

  Role role_;
  std::int64_t rows_, block_rows_;
  Operand<T> table_, y_;
  Operand<std::int64_t> indices_;
  Room<T> partials_;
};

} // namespace

MadeOp make_op(const GatherSpec& spec, const Manner& manner, const Choice& choice) {
  Shape wanted = spec.indices.shape;
  bool fits = spec.table.shape.rank() >= 1 && wanted.rank() + spec.table.shape.rank() - 1 <= max_rank;
  for (std::size_t axis = 1; fits && axis < spec.table.shape.rank(); ++axis) wanted.push_back(spec.table.shape[axis]);
  if (!fits || wanted != spec.y.shape)
    return Status::invalid("gather: rows of ", to_string(spec.table.shape), " at ", to_string(spec.indices.shape),
                           " do not make ", to_string(spec.y.shape));
  return in_its_type<Gather>(spec, manner, choice);
}

} // namespace dlhost::plugins::ref
