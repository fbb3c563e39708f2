// Rows of a table, and the sums of rows that are its gradient.
#include <algorithm>
#include <cstring>

#include <dlhost/parallel.h>

#include "map/kernels.h"
#include "prepare.h"
#include "primitive.h"

namespace dlhost::plugins::cpu {
namespace {

constexpr std::int64_t grain_elements = 16 * 1024;

class Gather final : public Op {
 public:
  explicit Gather(const GatherSpec& spec)
      : role_(spec.role), rows_(spec.table.shape[0]), row_(spec.table.shape.past(1)), count_(spec.indices.count()),
        table_(spec.table.dtype), values_(spec.y.dtype) {
    if (role_ == Role::feature) {
      in = {spec.table, spec.indices};
      out = {spec.y};
    } else {
      in = {spec.indices, spec.y};
      out = {spec.table};
    }
    kernel = "rows";
    operations = role_ == Role::feature ? 0 : static_cast<double>(spec.y.count());
  }

  void execute(Stream& stream, std::span<const void* const> inputs, std::span<void* const> outputs, void*,
               const Dynamic&) override {
    const auto* indices = static_cast<const std::int32_t*>(inputs[role_ == Role::feature ? 1 : 0]);
    for (std::int64_t i = 0; i < count_; ++i)
      if (indices[i] < 0 || indices[i] >= rows_) {
        static_cast<CpuStream&>(stream).fail(
            Status::invalid("index ", indices[i], " at ", i, " is not in [0, ", rows_, ")"));
        return;
      }
    if (role_ == Role::feature)
      feature(inputs[0], indices, outputs[0]);
    else
      gradient(indices, inputs[1], outputs[0]);
  }

 private:
  template <class Byte> static Byte* at(DType type, Byte* data, std::int64_t element) {
    return data + element * static_cast<std::int64_t>(size_of(type));
  }

  void feature(const void* table, const std::int32_t* indices, void* y) const {
    parallel_ranges(count_, std::max<std::int64_t>(1, grain_elements / std::max<std::int64_t>(row_, 1)),
                    [&](std::int64_t first, std::int64_t last) {
                      for (auto i = first; i < last; ++i) {
                        const auto* from = at(table_, static_cast<const std::byte*>(table), indices[i] * row_);
                        auto* to = at(values_, static_cast<std::byte*>(y), i * row_);
                        if (table_ == values_)
                          std::memcpy(to, from, static_cast<std::size_t>(row_) * size_of(table_));
                        else
                          convert(from, to);
                      }
                    });
  }
  void convert(const std::byte* from, std::byte* to) const {
    float part[chunk];
    for (std::int64_t first = 0; first < row_; first += chunk) {
      const auto count = std::min(chunk, row_ - first);
      map_kernels().load(table_, at(table_, from, first), part, count);
      map_kernels().store(values_, part, at(values_, to, first), count);
    }
  }

  // Each thread sums its own columns, over the rows in order.
  void gradient(const std::int32_t* indices, const void* dy, void* dtable) const {
    auto* sums = static_cast<float*>(dtable);
    parallel_ranges(rows_ * row_, grain_elements,
                    [&](std::int64_t first, std::int64_t last) { std::fill(sums + first, sums + last, 0.0F); });
    parallel_ranges(row_, std::max<std::int64_t>(16, grain_elements / std::max<std::int64_t>(count_, 1)),
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t i = 0; i < count_; ++i)
                        for (auto from = first; from < last; from += chunk) {
                          float part[chunk];
                          const auto count = std::min(chunk, last - from);
                          map_kernels().load(values_, at(values_, static_cast<const std::byte*>(dy), i * row_ + from),
                                             part, count);
                          map_kernels().accumulate(part, sums + indices[i] * row_ + from, count);
                        }
                    });
  }

  Role role_;
  std::int64_t rows_, row_, count_;
  DType table_, values_;
};

} // namespace

Prepared prepare(const GatherSpec& wanted, const Request&) {
  GatherSpec spec = wanted;
  for (auto* desc : {&spec.table, &spec.indices, &spec.y}) {
    if (desc->format.is_any()) desc->format = Format::plain();
    if (!desc->format.is_plain()) return Status::unsupported("gather: plain tensors only");
  }
  if (spec.table.shape.rank() < 1 || spec.y.count() != spec.indices.count() * spec.table.shape.past(1))
    return Status::invalid("gather: y of ", to_string(spec.y.shape), " does not hold rows of ",
                           to_string(spec.table.shape), " for indices of ", to_string(spec.indices.shape));
  if (spec.indices.dtype != DType::i32) return Status::unsupported("gather: indices must be i32");
  if (spec.role != Role::feature && spec.table.dtype != DType::f32)
    return Status::unsupported("gather: the table's gradient is made in f32");
  return std::unique_ptr<Op>(std::make_unique<Gather>(spec));
}

} // namespace dlhost::plugins::cpu
