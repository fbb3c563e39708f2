// Rows of a table, and their gradient: the first occurrence of an index sums all later ones, along a chain that is made
// first. So no two threads add to one element, and sums keep their order.
#include "launch.h"
#include "number.h"
#include "prepare.h"

namespace dlhost::plugins::cuda {

namespace {

struct GatherRows {
  Source table;
  const std::int32_t* indices;
  Target y;
  std::int64_t rows, row;
  Fault* fault;
  DLHOST_BODY void operator()(std::int64_t i) const {
    const std::int64_t place = quotient(i, row);
    const std::int32_t index = indices[place];
    if (index < 0 || index >= rows) {
      if (place * row == i) report(fault, Fault::index, index, place, rows);
      return y.set(i, 0);
    }
    y.set(i, table[index * row + (i - place * row)]);
  }
};

struct Cleared {
  float* data;
  DLHOST_BODY void operator()(std::int64_t i) const { data[i] = 0; }
};

// next[i]: the next occurrence of i's index; -1: none.
struct Chain {
  const std::int32_t* indices;
  std::int32_t *next, *first;
  std::int64_t count, rows;
  Fault* fault;
  DLHOST_BODY void operator()(std::int64_t i) const {
    const std::int32_t index = indices[i];
    if (index < 0 || index >= rows) {
      report(fault, Fault::index, index, i, rows);
      first[i] = 0;
      return;
    }
    std::int64_t before = i;
    while (before-- > 0 && indices[before] != index) {
    }
    first[i] = before < 0;
    std::int64_t after = i + 1;
    while (after < count && indices[after] != index) ++after;
    next[i] = after < count ? static_cast<std::int32_t>(after) : -1;
  }
};

struct AddRows {
  const std::int32_t *indices, *next, *first;
  Source dy;
  float* dtable;
  std::int64_t row;
  DLHOST_BODY void operator()(std::int64_t i) const {
    const std::int64_t place = quotient(i, row), within = i - place * row;
    if (!first[place]) return;
    float sum = 0;
    for (std::int64_t at = place; at >= 0; at = next[at]) sum += dy[at * row + within];
    dtable[indices[place] * row + within] = sum;
  }
};

class Gather final : public KernelOp {
 public:
  explicit Gather(const GatherSpec& spec)
      : feature_(spec.role == Role::feature), rows_(spec.table.shape[0]), row_(spec.table.shape.past(1)),
        count_(spec.indices.count()) {
    if (feature_) {
      in = {plain_of(spec.table), plain_of(spec.indices)};
      out = {plain_of(spec.y)};
    } else {
      in = {plain_of(spec.indices), plain_of(spec.y)};
      out = {plain_of(spec.table)};
      next_ = room<std::int32_t>(count_);
      first_ = room<std::int32_t>(count_);
      operations = static_cast<double>(spec.y.count());
    }
    kernel = "cuda gather";
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    const auto* indices = static_cast<const std::int32_t*>(call.in[feature_ ? 1 : 0]);
    if (feature_)
      return each(
          stream, out[0].count(),
          GatherRows{{call.in[0], in[0].dtype}, indices, {call.out[0], out[0].dtype}, rows_, row_, stream.fault()});
    auto* dtable = static_cast<float*>(call.out[0]);
    std::int32_t *next = next_.in(call), *first = first_.in(call);
    each(stream, rows_ * row_, Cleared{dtable});
    each(stream, count_, Chain{indices, next, first, count_, rows_, stream.fault()});
    each(stream, count_ * row_, AddRows{indices, next, first, {call.in[1], in[1].dtype}, dtable, row_});
  }

 private:
  bool feature_;
  std::int64_t rows_, row_, count_;
  Room<std::int32_t> next_, first_;
};

} // namespace

Prepared prepare_own(const GatherSpec& spec) {
  DLHOST_TRY(need_plain("gather", {&spec.table, &spec.indices, &spec.y}));
  Shape wanted = spec.indices.shape;
  bool fits = spec.table.shape.rank() >= 1 && wanted.rank() + spec.table.shape.rank() - 1 <= max_rank;
  for (std::size_t axis = 1; fits && axis < spec.table.shape.rank(); ++axis) wanted.push_back(spec.table.shape[axis]);
  if (!fits || wanted != spec.y.shape)
    return Status::invalid("gather: rows of ", to_string(spec.table.shape), " at ", to_string(spec.indices.shape),
                           " do not make ", to_string(spec.y.shape));
  if (spec.indices.dtype != DType::i32) return Status::unsupported("cuda: gather: indices must be i32");
  if (spec.indices.count() > 0x7fffffff) return Status::unsupported("cuda: gather: more indices than an i32 counts");
  if (spec.role != Role::feature && spec.table.dtype != DType::f32)
    return Status::unsupported("cuda: gather: the table's gradient is made in f32");
  return std::unique_ptr<Op>(std::make_unique<Gather>(spec));
}

} // namespace dlhost::plugins::cuda
