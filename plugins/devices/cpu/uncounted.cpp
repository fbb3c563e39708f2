#include "uncounted.h"

#include <algorithm>
#include <vector>

#include <dlhost/parallel.h>

#include "formats.h"
#include "map/kernels.h"
#include "primitive.h"

namespace dlhost::plugins::cpu {
namespace {

// An element of a sample of y whose window counts fewer elements than it has; its offset in memory.
struct Edge {
  std::int64_t offset;
  float factor; // all elements divided by the counted ones
};

// The number of all elements divided by the counted ones, along one axis.
float factor_along(const PoolSpec& spec, std::size_t axis, std::int64_t place) {
  const auto end = spec.x.shape[axis + 2] + spec.pad_high[axis] - spec.uncounted[axis];
  const auto counted = std::min(spec.window[axis], end - (place * spec.stride[axis] - spec.pad_low[axis]));
  return static_cast<float>(spec.window[axis]) / static_cast<float>(counted);
}

Result<std::vector<Edge>> edges_of(const PoolSpec& spec, const TensorDesc& y) {
  const auto elements = Placement(y).elements_of_a_sample();
  if (elements.empty()) return Status::unsupported("pool: samples do not lie one after another in ", name_of_format(y));
  std::vector<Edge> edges;
  for (std::size_t offset = 0; offset < elements.size(); ++offset) {
    std::int64_t rest = elements[offset];
    if (rest < 0) continue;
    float factor = 1;
    for (auto axis = spec.window.size(); axis-- > 0; rest /= y.shape[axis + 2])
      factor *= factor_along(spec, axis, rest % y.shape[axis + 2]);
    if (factor != 1) edges.push_back({static_cast<std::int64_t>(offset), factor});
  }
  return edges;
}

class UncountedPool final : public Op {
 public:
  UncountedPool(std::unique_ptr<Op> whole, const PoolSpec& spec, std::vector<Edge> edges)
      : whole_(std::move(whole)), edges_(std::move(edges)), feature_(spec.role == Role::feature) {
    in = whole_->in;
    out = whole_->out;
    kernel = whole_->kernel;
    operations = whole_->operations;
    workspace_bytes = whole_->workspace_bytes;
    dy_ = (whole_->scratch_bytes + 63) / 64 * 64;
    scratch_bytes = feature_ ? whole_->scratch_bytes : dy_ + bytes_of(in[0]);
  }

  void execute(Stream& stream, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic& dynamic) override {
    if (feature_) {
      whole_->execute(stream, inputs, outputs, scratch, dynamic);
      scale(out[0], outputs[0]);
      return;
    }
    void* dy = static_cast<std::byte*>(scratch) + dy_;
    copy_bytes(dy, inputs[0], bytes_of(in[0]));
    scale(in[0], dy);
    const void* scaled = dy;
    whole_->execute(stream, {&scaled, 1}, outputs, scratch, dynamic);
  }

 private:
  void scale(const TensorDesc& desc, void* data) const {
    const auto sample = elements_of(desc) / desc.shape[0], size = static_cast<std::int64_t>(size_of(desc.dtype));
    parallel_ranges(desc.shape[0], 1, [&](std::int64_t first, std::int64_t last) {
      for (auto n = first; n < last; ++n)
        for (const Edge& edge : edges_) {
          std::byte* at = static_cast<std::byte*>(data) + (n * sample + edge.offset) * size;
          float value = 0;
          map_kernels().load(desc.dtype, at, &value, 1);
          value *= edge.factor;
          map_kernels().store(desc.dtype, &value, at, 1);
        }
    });
  }

  std::unique_ptr<Op> whole_;
  std::vector<Edge> edges_;
  bool feature_;
  std::size_t dy_; // offset of its copy in the scratch
};

} // namespace

Counting counting(const PoolSpec& spec) {
  if (spec.kind == PoolSpec::Kind::max || !spec.count_padding) return Counting::none;
  const auto none = [](const std::vector<std::int64_t>& list) {
    return std::ranges::all_of(list, [](std::int64_t n) { return n == 0; });
  };
  if (none(spec.uncounted)) return Counting::all;
  return none(spec.pad_low) && spec.pad_high == spec.uncounted ? Counting::none : Counting::some;
}

Prepared without_uncounted(std::unique_ptr<Op> counts_all, const PoolSpec& spec) {
  const TensorDesc& y = spec.role == Role::feature ? counts_all->out[0] : counts_all->in[0];
  DLHOST_ASSIGN(auto edges, edges_of(spec, y));
  return std::unique_ptr<Op>(std::make_unique<UncountedPool>(std::move(counts_all), spec, std::move(edges)));
}

} // namespace dlhost::plugins::cpu
