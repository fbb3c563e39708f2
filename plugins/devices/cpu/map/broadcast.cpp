// Elementwise ops with broadcasting and sums, over plain tensors. The index space is cut into blocks by its shape
// alone. Each block sums into its own place, and the places are added in order, so that results do not depend on the
// number of threads.
#include <algorithm>

#include <dlhost/parallel.h>

#include "chunk.h"
#include "map.h"
#include "space.h"

namespace dlhost::plugins::cpu {
namespace {

constexpr std::int64_t block_elements = 32 * 1024;
constexpr std::int64_t most_blocks = 64;

class BroadcastMap final : public Op {
 public:
  BroadcastMap(const MapSpec& spec, const MapKernels& kernels, int threads)
      : runner_(spec.expression, kernels), space_(spec.in, spec.out), threads_(threads), rows_(spec.rows) {
    in = spec.in;
    out = spec.out;
    row_ = space_.full().past(1);
    cut();
    std::int64_t place = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      sums_.push_back({space_.sums(i), place, out[i].count(), space_.sums_outermost(i) ? blocks_ : 1});
      if (sums_[i].sums) place += sums_[i].count * sums_[i].copies;
    }
    partial_floats_ = place;
    operations = static_cast<double>(space_.count()) * static_cast<double>(runner_.program().instructions.size());
    scratch_bytes = static_cast<std::size_t>(threads_ * runner_.room() + partial_floats_) * sizeof(float);
    kernel = "map";
  }

  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic& dynamic) override {
    runner_.set_scalars(dynamic.scalars);
    const auto workers = std::min<std::int64_t>({threads_, parallel_threads(), blocks_});
    auto* partials = static_cast<float*>(scratch) + threads_ * runner_.room();
    std::fill_n(partials, partial_floats_, 0.0F);
    parallel(workers, [&](std::int64_t worker) {
      const ChunkRunner::Room room(runner_, static_cast<float*>(scratch) + worker * runner_.room());
      for (auto block = blocks_ * worker / workers; block < blocks_ * (worker + 1) / workers; ++block) {
        const auto last = start_of(block + 1);
        for (auto first = start_of(block); first < last; first += chunk)
          run_chunk(room, block, first, std::min(chunk, last - first), inputs, outputs, partials, dynamic);
      }
    });
    for (std::size_t i = 0; i < out.size(); ++i)
      if (sums_[i].sums) finish(i, partials + sums_[i].place, outputs[i]);
  }

 private:
  // A summed output: its places, and the number of blocks with their own place.
  struct Sums {
    bool sums;
    std::int64_t place, count, copies;
  };

  // Blocks are runs of the outermost axis, so that an output with that axis belongs to one block in each run.
  void cut() {
    unit_ = space_.axes().rank() == 1 ? 1 : space_.axes().past(1);
    const auto units = space_.count() / unit_;
    blocks_ = std::clamp<std::int64_t>(space_.count() / block_elements, 1, std::min(most_blocks, units));
    for (std::size_t i = 0; i < out.size(); ++i)
      if (space_.sums_outermost(i))
        blocks_ = std::min(blocks_, std::max<std::int64_t>(1, space_.count() / (4 * out[i].count())));
  }
  std::int64_t start_of(std::int64_t block) const { return space_.count() / unit_ * block / blocks_ * unit_; }

  void run_chunk(const ChunkRunner::Room& room, std::int64_t block, std::int64_t first, std::int64_t count,
                 std::span<const void* const> inputs, std::span<void* const> outputs, float* partials,
                 const Dynamic& dynamic) const {
    const auto& program = runner_.program();
    const float* loaded[max_operands];
    for (std::size_t i = 0; i < program.reads.size(); ++i) {
      if (!program.reads[i]) continue;
      spread(i, inputs[i], first, count, room.input(i));
      loaded[i] = room.input(i);
    }
    for (std::size_t i = 0; i < program.draws.size(); ++i)
      draw_rows(runner_.kernels(), dynamic, row_, program.draws[i], first, count, room.draw(i));
    float* results[max_operands] = {};
    room.run(loaded, count, {results, out.size()});
    const auto counted =
        rows_ && dynamic.valid >= 0 ? std::clamp<std::int64_t>(dynamic.valid * row_ - first, 0, count) : count;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!sums_[i].sums) {
        runner_.kernels().store(out[i].dtype, results[i], at(out[i], outputs[i], first), count);
      } else {
        auto* sums = partials + sums_[i].place + (sums_[i].copies > 1 ? block * sums_[i].count : 0);
        accumulate(i, results[i], first, counted, sums);
      }
    }
  }

  // Loads the values of input i along a run of the space.
  void spread(std::size_t i, const void* data, std::int64_t first, std::int64_t count, float* dst) const {
    const auto& strides = space_.input(i);
    const bool walks = strides.along[space_.axes().rank() - 1] != 0;
    space_.walk(strides, first, count, [&](std::int64_t offset, std::int64_t length) {
      const auto* src = static_cast<const std::byte*>(data) + offset * static_cast<std::int64_t>(size_of(in[i].dtype));
      if (walks) {
        runner_.kernels().load(in[i].dtype, src, dst, length);
      } else {
        float value = 0;
        runner_.kernels().load(in[i].dtype, src, &value, 1);
        std::fill_n(dst, length, value);
      }
      dst += length;
    });
  }

  void accumulate(std::size_t i, const float* values, std::int64_t first, std::int64_t count, float* sums) const {
    const auto& strides = space_.output(i);
    const bool walks = strides.along[space_.axes().rank() - 1] != 0;
    space_.walk(strides, first, count, [&](std::int64_t offset, std::int64_t length) {
      if (walks)
        runner_.kernels().accumulate(values, sums + offset, length);
      else
        sums[offset] += runner_.kernels().sum(values, length);
      values += length;
    });
  }

  void finish(std::size_t i, float* partials, void* output) const {
    const auto count = sums_[i].count;
    parallel_ranges(count, block_elements / std::max<std::int64_t>(1, sums_[i].copies),
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t copy = 1; copy < sums_[i].copies; ++copy)
                        runner_.kernels().accumulate(partials + copy * count + first, partials + first, last - first);
                      runner_.kernels().store(out[i].dtype, partials + first, at(out[i], output, first), last - first);
                    });
  }

  static std::byte* at(const TensorDesc& desc, void* data, std::int64_t element) {
    return static_cast<std::byte*>(data) + element * static_cast<std::int64_t>(size_of(desc.dtype));
  }

  ChunkRunner runner_;
  Space space_;
  std::int64_t threads_;
  bool rows_;
  std::int64_t row_ = 1;  // elements of a sample
  std::int64_t unit_ = 1; // the unit of a block's length
  std::int64_t blocks_ = 1;
  std::int64_t partial_floats_ = 0;
  std::vector<Sums> sums_;
};

} // namespace

std::unique_ptr<Op> make_broadcast_map(const MapSpec& spec, const MapKernels& kernels, int threads) {
  return std::make_unique<BroadcastMap>(spec, kernels, threads);
}

} // namespace dlhost::plugins::cpu
