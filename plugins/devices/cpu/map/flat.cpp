// Elementwise ops whose tensors all have the same layout: one walk over memory, in any format; with several segments,
// over all of them.
#include <algorithm>

#include <dlhost/parallel.h>

#include "../formats.h"
#include "../prepare.h"
#include "chunk.h"
#include "map.h"

namespace dlhost::plugins::cpu {
namespace {

// The least work for a thread: with less, waking it costs more than it gains.
constexpr std::int64_t grain_chunks = 16;

// Larger results do not stay in the caches.
constexpr std::int64_t large_elements = std::int64_t{8} << 20;

class FlatMap final : public Op {
 public:
  FlatMap(const MapSpec& spec, const MapKernels& kernels, int threads)
      : runner_(spec.expression, kernels), threads_(threads) {
    in = spec.in;
    out = spec.out;
    const auto& first = in.empty() ? out.front() : in.front();
    row_ = first.shape.rank() > 0 ? first.shape.past(1) : 1;
    for (const auto count : spec.segments.empty() ? std::vector{elements_of(first)} : spec.segments) {
      starts_.push_back(chunks_);
      counts_.push_back(count);
      chunks_ += (count + chunk - 1) / chunk;
    }
    if (is_padded(first) && !spec.keeps_zeros) padding_ = Placement(first).padding();
    if (!first.format.is_plain() && spec.expression.draws()) {
      places_ = Placement(first).elements_of_a_sample();
      lanes_ = std::max<std::int64_t>(std::ranges::find(places_, 1) - std::ranges::find(places_, 0), 1);
    }
    std::int64_t total = 0;
    for (auto count : counts_) total += count;
    large_ = total >= large_elements;
    // A result with another dtype than every input cannot overwrite one.
    for (const auto& result : out) {
      pairs_.push_back(result.format == first.format ? std::nullopt : pairing(first, result));
      fresh_.push_back(std::ranges::none_of(in, [&](const auto& input) { return input.dtype == result.dtype; }));
    }
    operations = static_cast<double>(total) * static_cast<double>(runner_.program().instructions.size());
    scratch_bytes = static_cast<std::size_t>(runner_.room() * threads_) * sizeof(float);
    kernel = "map";
  }

  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic& dynamic) override {
    runner_.set_scalars(dynamic.scalars);
    const auto pieces = std::clamp<std::int64_t>(chunks_ / grain_chunks, 1, std::min(threads_, parallel_threads()));
    parallel(pieces, [&](std::int64_t piece) {
      const ChunkRunner::Room room(runner_, static_cast<float*>(scratch) + piece * runner_.room());
      const auto first = chunks_ * piece / pieces, last = chunks_ * (piece + 1) / pieces;
      auto segment =
          static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), first) - starts_.begin() - 1);
      for (auto number = first; number < last; ++number) {
        while (segment + 1 < starts_.size() && starts_[segment + 1] <= number) ++segment;
        run_chunk(room, segment, (number - starts_[segment]) * chunk, inputs, outputs, dynamic);
      }
    });
    for (std::size_t i = 0; i < out.size() && !padding_.empty(); ++i) clear_padding(i, outputs[i]);
  }

 private:
  void run_chunk(const ChunkRunner::Room& room, std::size_t segment, std::int64_t first,
                 std::span<const void* const> inputs, std::span<void* const> outputs, const Dynamic& dynamic) const {
    const auto& program = runner_.program();
    const auto& kernels = runner_.kernels();
    const auto count = std::min(chunk, counts_[segment] - first);
    const bool whole = count % kernels.lanes == 0;
    const float* loaded[max_operands];
    for (std::size_t i = 0; i < program.reads.size(); ++i) {
      if (!program.reads[i]) continue;
      const auto* data = at(in[i], inputs[segment * in.size() + i], first);
      if (in[i].dtype == DType::f32 && whole) {
        loaded[i] = reinterpret_cast<const float*>(data);
      } else {
        kernels.load(in[i].dtype, data, room.input(i), count);
        loaded[i] = room.input(i);
      }
    }
    for (std::size_t i = 0; i < program.draws.size(); ++i)
      draw(kernels, dynamic, program.draws[i], first, count, room.draw(i));

    const auto place = [&](std::size_t i) { return at(out[i], outputs[segment * out.size() + i], first); };
    const auto streams = [&](std::size_t i) { return large_ && fresh_[i]; };
    float* results[max_operands];
    for (std::size_t i = 0; i < out.size(); ++i)
      results[i] = whole && out[i].dtype == DType::f32 && pairs_[i] == std::nullopt && !streams(i)
                       ? reinterpret_cast<float*>(place(i))
                       : nullptr;
    room.run(loaded, count, {results, out.size()});
    for (std::size_t i = 0; i < out.size(); ++i) {
      const float* values = results[i];
      void* data = outputs[segment * out.size() + i];
      if (const auto& pairs = pairs_[i]) {
        const auto paired = first / pairs->rows_piece * pairs->pairs_piece + first % pairs->rows_piece;
        kernels.store_pairs(out[i].dtype, values, at(out[i], data, paired), count, pairs->width);
        continue;
      }
      if (static_cast<const void*>(values) == place(i)) continue;
      const auto store = streams(i) ? kernels.store_streaming : kernels.store;
      store(out[i].dtype, values, place(i), count);
    }
  }

  // An element's draw is that of its logical index in the sample, in any format.
  void draw(const MapKernels& kernels, const Dynamic& dynamic, std::uint16_t number, std::int64_t first,
            std::int64_t count, float* dst) const {
    if (places_.empty()) return draw_rows(kernels, dynamic, row_, number, first, count, dst);
    const auto room = static_cast<std::int64_t>(places_.size());
    while (count > 0) {
      const auto row = first / room, from = first % room, piece = std::min(count, room - from);
      const auto sample =
          dynamic.samples.empty() ? static_cast<std::uint32_t>(row) : dynamic.samples[static_cast<std::size_t>(row)];
      draw_placed(kernels, {dynamic.key, dynamic.epoch, sample}, number, from, piece, dst);
      first += piece;
      dst += piece;
      count -= piece;
    }
  }

  // Neighbours in a sample lie `lanes_` apart: draws made together are spread over the lanes.
  void draw_placed(const MapKernels& kernels, const Draws& draws, std::uint16_t number, std::int64_t from,
                   std::int64_t count, float* dst) const {
    const auto place = [&](std::int64_t i) { return places_[static_cast<std::size_t>(from + i)]; };
    float run[chunk];
    for (std::int64_t lane = 0; lane < std::min(lanes_, count); ++lane)
      for (std::int64_t begin = lane; begin < count;) {
        std::int64_t length = 1;
        auto end = begin + lanes_;
        for (; end < count && place(begin) >= 0 && place(end) == place(begin) + length; end += lanes_) ++length;
        if (place(begin) < 0)
          run[0] = 0;
        else
          kernels.draw(draws, (std::uint64_t{number} << 40) + static_cast<std::uint64_t>(place(begin)), run, length);
        for (std::int64_t i = 0; i < length; ++i) dst[begin + i * lanes_] = run[i];
        begin = end;
      }
  }

  static const std::byte* at(const TensorDesc& desc, const void* data, std::int64_t element) {
    return static_cast<const std::byte*>(data) + element * static_cast<std::int64_t>(size_of(desc.dtype));
  }
  static std::byte* at(const TensorDesc& desc, void* data, std::int64_t element) {
    return static_cast<std::byte*>(data) + element * static_cast<std::int64_t>(size_of(desc.dtype));
  }

  void clear_padding(std::size_t i, void* data) const {
    const auto size = size_of(out[i].dtype);
    for (auto offset : padding_) std::fill_n(at(out[i], data, offset), size, std::byte{0});
  }

  ChunkRunner runner_;
  int threads_;
  std::int64_t row_ = 1;                      // elements of a sample
  std::int64_t chunks_ = 0;                   // in all segments
  std::vector<std::int64_t> starts_, counts_; // of each segment: its first chunk, its number of elements
  bool large_ = false;
  std::vector<bool> fresh_;                   // of each result
  std::vector<std::optional<Pairing>> pairs_; // of each result; none: it lies like the others
  std::vector<std::int64_t> padding_;
  std::int64_t lanes_ = 1;           // distance of a sample's first two elements
  std::vector<std::int32_t> places_; // logical index of each element of a sample, for draws in formats other than plain
};

} // namespace

std::unique_ptr<Op> make_flat_map(const MapSpec& spec, const MapKernels& kernels, int threads) {
  return std::make_unique<FlatMap>(spec, kernels, threads);
}

void draw_rows(const MapKernels& kernels, const Dynamic& dynamic, std::int64_t row_size, std::uint16_t number,
               std::int64_t first, std::int64_t count, float* dst) {
  while (count > 0) {
    const auto row = first / row_size, element = first % row_size;
    const auto piece = std::min(count, row_size - element);
    const auto sample =
        dynamic.samples.empty() ? static_cast<std::uint32_t>(row) : dynamic.samples[static_cast<std::size_t>(row)];
    kernels.draw({dynamic.key, dynamic.epoch, sample},
                 (std::uint64_t{number} << 40) + static_cast<std::uint64_t>(element), dst, piece);
    first += piece;
    dst += piece;
    count -= piece;
  }
}

} // namespace dlhost::plugins::cpu
