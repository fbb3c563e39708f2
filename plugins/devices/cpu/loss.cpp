// Softmax and cross-entropy together: over each row while it is in the first cache; with places, down the columns of
// several neighbouring lines at once. Threads divide rows and tiles; the lines' losses are added in order afterwards,
// so that the sum does not depend on the threads.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include <dlhost/parallel.h>

#include "columns.h"
#include "map/kernels.h"
#include "prepare.h"
#include "primitive.h"
#include "rows.h"

namespace dlhost::plugins::cpu {
namespace {

constexpr std::int64_t grain_elements = 4096;
// The number of neighbouring lines in a tile: two cache lines of f32, more if the tile stays in the second cache.
constexpr std::int64_t least_places = 32, most_places = 128, tile_elements = 64 * 1024;
// Several rows of a narrow tile are processed together, as whole vectors of so many elements.
constexpr std::int64_t vector_elements = 16;
// A number for each column of a tile.
using ByColumn = std::array<float, least_places * vector_elements>;

class SoftmaxLoss final : public Op {
 public:
  SoftmaxLoss(const SoftmaxLossSpec& spec, int threads)
      : spec_(spec), threads_(threads), classes_(spec.x.shape[1]), inner_(spec.x.shape.past(2)),
        lines_(spec.x.shape[0] * inner_),
        places_(std::clamp(tile_elements / classes_ / vector_elements * vector_elements, least_places, most_places)),
        sample_tiles_((inner_ + places_ - 1) / places_) {
    spec_.x.format = Format::plain();
    Shape labels{spec.x.shape[0]};
    for (std::size_t axis = 2; axis < spec.x.shape.rank(); ++axis) labels.push_back(spec.x.shape[axis]);
    in = {spec_.x, {DType::i32, labels, {}}};
    if (spec.class_weights) in.push_back({DType::f32, {classes_}, {}});
    out = {spec_.x};
    if (spec.role == Role::feature) out.push_back({DType::f32, {2}, {}});
    direct_ = spec.x.dtype == DType::f32 && inner_ == 1;
    // Numbers of 16 bits are computed in f32 rooms: a row, or the powers of a tile.
    if (spec.x.dtype != DType::f32 && (inner_ == 1 || spec.role == Role::feature))
      room_ = classes_ * std::min(places_, inner_);
    scratch_bytes = static_cast<std::size_t>(threads * room_ + 2 * lines_) * sizeof(float);
    operations = 5.0 * static_cast<double>(spec.x.count());
    kernel = inner_ == 1 ? "rows" : "columns";
  }

  void execute(Stream& stream, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic& dynamic) override {
    const Run run{inputs,
                  outputs,
                  static_cast<const std::int32_t*>(inputs[1]),
                  spec_.class_weights ? static_cast<const float*>(inputs[2]) : nullptr,
                  dynamic.valid < 0 ? lines_ : std::min(lines_, dynamic.valid * inner_),
                  dynamic.scalars.empty() ? 1.0F : dynamic.scalars[0]};
    if (const auto wrong = first_wrong(run); wrong < run.counted) {
      static_cast<CpuStream&>(stream).fail(
          Status::invalid("label ", run.labels[wrong], " of row ", wrong / inner_, " of the batch is not in [0, ",
                          classes_, "): give the layer before the loss more units, or number classes from 0"));
      return;
    }
    auto* losses = static_cast<float*>(scratch);
    if (inner_ == 1)
      each_row(run, losses);
    else
      each_tile(run, losses);
    if (spec_.role == Role::feature) add_up(losses, static_cast<float*>(outputs[1]));
  }

 private:
  struct Run {
    std::span<const void* const> inputs;
    std::span<void* const> outputs;
    const std::int32_t* labels;
    const float* weights;
    std::int64_t counted; // number of lines
    float factor;
  };
  // Neighbouring lines of one sample: [classes, places] in rows `inner_` apart.
  struct Tile {
    std::int64_t line, places; // the first line, and their number
    std::int64_t element;      // of the first line
    std::int64_t group;        // number of rows processed as one
    std::int64_t width() const { return places * group; }
  };

  bool ignored(std::int32_t label) const { return spec_.ignored && *spec_.ignored == label; }
  // The first counted line with an invalid label; `counted`: none.
  std::int64_t first_wrong(const Run& run) const {
    std::int64_t line = 0;
    while (line < run.counted && (ignored(run.labels[line]) || (run.labels[line] >= 0 && run.labels[line] < classes_)))
      ++line;
    return line;
  }
  float weight(const Run& run, std::int64_t line) const {
    if (line >= run.counted || ignored(run.labels[line])) return 0;
    return run.weights ? run.weights[run.labels[line]] : 1.0F;
  }

  std::int64_t pieces(std::int64_t of) const {
    return std::clamp<std::int64_t>(lines_ * classes_ / grain_elements, 1,
                                    std::min<std::int64_t>({threads_, parallel_threads(), of}));
  }
  void each_row(const Run& run, float* losses) const {
    const auto parts = pieces(lines_);
    parallel(parts, [&](std::int64_t part) {
      float* room = room_of(losses, part);
      for (auto line = lines_ * part / parts; line < lines_ * (part + 1) / parts; ++line) {
        if (spec_.role == Role::feature)
          feature(run, line, room, losses + 2 * line);
        else
          gradient(run, line, room);
      }
    });
  }
  void each_tile(const Run& run, float* losses) const {
    const auto tiles = spec_.x.shape[0] * sample_tiles_, parts = pieces(tiles);
    parallel(parts, [&](std::int64_t part) {
      for (auto i = tiles * part / parts; i < tiles * (part + 1) / parts; ++i) {
        const Tile tile = tile_of(i);
        if (spec_.role == Role::feature)
          feature(run, tile, losses + 2 * tile.line, room_of(losses, part));
        else
          gradient(run, tile);
      }
    });
  }

  float* room_of(float* losses, std::int64_t part) const { return losses + 2 * lines_ + part * room_; }

  // The address of an element in x's dtype.
  const std::byte* at(const void* data, std::int64_t element) const {
    return static_cast<const std::byte*>(data) + element * static_cast<std::int64_t>(size_of(spec_.x.dtype));
  }
  std::byte* at(void* data, std::int64_t element) const {
    return static_cast<std::byte*>(data) + element * static_cast<std::int64_t>(size_of(spec_.x.dtype));
  }
  const float* read(const void* from, std::int64_t line, float* room) const {
    if (direct_) return static_cast<const float*>(from) + line * classes_;
    map_kernels().load(spec_.x.dtype, at(from, line * classes_), room, classes_);
    return room;
  }
  void write(void* to, std::int64_t line, const float* room) const {
    if (!direct_) map_kernels().store(spec_.x.dtype, room, at(to, line * classes_), classes_);
  }

  void feature(const Run& run, std::int64_t line, float* room, float* loss) const {
    const float* x = read(run.inputs[0], line, room);
    float* p = direct_ ? static_cast<float*>(run.outputs[0]) + line * classes_ : room;
    const float w = weight(run, line);
    const auto smoothing = static_cast<float>(spec_.smoothing);
    const float chosen = w != 0 ? x[run.labels[line]] : 0;
    float sum = 0;
    const float log_sum = row_kernels().softmax(x, p, classes_, smoothing != 0 ? &sum : nullptr);
    loss[0] = w == 0 ? 0 : w * (log_sum - (1 - smoothing) * chosen - smoothing / static_cast<float>(classes_) * sum);
    loss[1] = w;
    write(run.outputs[0], line, p);
  }

  void gradient(const Run& run, std::int64_t line, float* room) const {
    const float w = run.factor * weight(run, line);
    const float* p = read(run.inputs[0], line, room);
    float* dx = direct_ ? static_cast<float*>(run.outputs[0]) + line * classes_ : room;
    const auto smoothing = static_cast<float>(spec_.smoothing);
    if (w == 0) {
      std::fill_n(dx, classes_, 0.0F);
    } else {
      row_kernels().softmax_gradient(p, dx, classes_, w, smoothing / static_cast<float>(classes_));
      dx[run.labels[line]] -= w * (1 - smoothing);
    }
    write(run.outputs[0], line, dx);
  }

  Tile tile_of(std::int64_t i) const {
    const auto sample = i / sample_tiles_, place = i % sample_tiles_ * places_;
    Tile tile{sample * inner_ + place, std::min(places_, inner_ - place), sample * classes_ * inner_ + place, 1};
    if (inner_ <= least_places) tile.group = vector_elements / std::gcd(inner_, vector_elements);
    return tile;
  }
  std::int64_t chosen_element(const Run& run, const Tile& tile, std::int64_t place) const {
    return tile.element + place + std::int64_t{run.labels[tile.line + place]} * inner_;
  }
  // Calls call(columns) for the rows in whole groups, then for the remaining rows. `room`: for the columns; null: y.
  template <class Call> void each_part(const Run& run, const Tile& tile, float* room, Call&& call) const {
    const auto groups = classes_ / tile.group, rest = classes_ % tile.group, first = tile.element;
    const auto step = tile.group * inner_, behind = first + groups * step;
    const auto columns = [&](std::int64_t element, std::int64_t rows, std::int64_t apart, std::int64_t width) {
      Columns of{at(run.inputs[0], element), at(run.outputs[0], element), rows, apart, width, room, width};
      if (room) {
        room += rows * width;
      } else if (spec_.x.dtype == DType::f32) {
        of.room = static_cast<float*>(of.y);
        of.room_step = apart;
      }
      call(of);
    };
    if (groups > 0) columns(first, groups, step, tile.width());
    if (rest > 0) columns(behind, rest, inner_, tile.places);
  }
  // Combines the numbers of all columns of a place, and gives each of them the result.
  template <class Fold> static void fold(const Tile& tile, ByColumn& numbers, Fold&& both) {
    for (auto c = tile.places; c < tile.width(); ++c)
      numbers[static_cast<std::size_t>(c % tile.places)] =
          both(numbers[static_cast<std::size_t>(c % tile.places)], numbers[static_cast<std::size_t>(c)]);
    spread(tile, numbers);
  }
  static void spread(const Tile& tile, ByColumn& numbers) {
    for (auto c = tile.places; c < tile.width(); ++c)
      numbers[static_cast<std::size_t>(c)] = numbers[static_cast<std::size_t>(c - tile.places)];
  }

  void feature(const Run& run, const Tile& tile, float* losses, float* room) const {
    const auto type = spec_.x.dtype;
    const auto smoothing = static_cast<float>(spec_.smoothing);
    if (room_ == 0) room = nullptr;
    ByColumn most, totals, sums, scale;
    std::fill_n(most.begin(), tile.width(), -std::numeric_limits<float>::infinity());
    for (auto* numbers : {&totals, &sums}) std::fill_n(numbers->begin(), tile.width(), 0.0F);
    each_part(run, tile, room, [&](const Columns& part) {
      column_kernels().largest(type, part, most.data(), smoothing != 0 ? totals.data() : nullptr);
    });
    fold(tile, most, [](float a, float b) { return std::max(a, b); });
    fold(tile, totals, std::plus());
    for (std::int64_t i = 0; i < tile.places; ++i) { // before the label's element is overwritten
      float* loss = losses + 2 * i;
      loss[1] = weight(run, tile.line + i);
      loss[0] = 0;
      if (loss[1] != 0) map_kernels().load(type, at(run.inputs[0], chosen_element(run, tile, i)), loss, 1);
    }
    each_part(run, tile, room,
              [&](const Columns& part) { column_kernels().powers(type, part, most.data(), sums.data()); });
    fold(tile, sums, std::plus());
    for (std::int64_t i = 0; i < tile.places; ++i) {
      const auto c = static_cast<std::size_t>(i);
      const float log_sum = most[c] + std::log(sums[c]), w = losses[2 * i + 1];
      auto& loss = losses[2 * i];
      loss = w == 0 ? 0 : w * (log_sum - (1 - smoothing) * loss - smoothing / static_cast<float>(classes_) * totals[c]);
      scale[c] = 1.0F / sums[c];
    }
    spread(tile, scale);
    each_part(run, tile, room, [&](const Columns& part) { column_kernels().finish(type, part, scale.data()); });
  }

  void gradient(const Run& run, const Tile& tile) const {
    const auto type = spec_.x.dtype;
    const auto smoothing = static_cast<float>(spec_.smoothing), by_class = smoothing / static_cast<float>(classes_);
    ByColumn factors, chosen;
    for (std::int64_t i = 0; i < tile.places; ++i) { // before the label's element is overwritten
      auto& factor = factors[static_cast<std::size_t>(i)] = run.factor * weight(run, tile.line + i);
      auto& slope = chosen[static_cast<std::size_t>(i)];
      if (factor == 0) continue;
      map_kernels().load(type, at(run.inputs[0], chosen_element(run, tile, i)), &slope, 1);
      slope = factor * (slope - by_class) - factor * (1 - smoothing);
    }
    spread(tile, factors);
    each_part(run, tile, nullptr,
              [&](const Columns& part) { column_kernels().slopes(type, part, factors.data(), by_class); });
    for (std::int64_t i = 0; i < tile.places; ++i)
      if (factors[static_cast<std::size_t>(i)] != 0)
        map_kernels().store(type, &chosen[static_cast<std::size_t>(i)],
                            at(run.outputs[0], chosen_element(run, tile, i)), 1);
  }

  void add_up(const float* losses, float* total) const {
    double sum = 0, weights = 0;
    for (std::int64_t line = 0; line < lines_; ++line) {
      sum += static_cast<double>(losses[2 * line]);
      weights += static_cast<double>(losses[2 * line + 1]);
    }
    total[0] = static_cast<float>(sum);
    total[1] = static_cast<float>(weights);
  }

  SoftmaxLossSpec spec_;
  int threads_;
  std::int64_t classes_, inner_, lines_, places_, sample_tiles_;
  std::int64_t room_ = 0; // elements of one thread's room
  bool direct_ = false;   // rows of f32, contiguous
};

} // namespace

Prepared prepare(const SoftmaxLossSpec& spec, const Request& request) {
  if (spec.x.shape.rank() < 2)
    return Status::invalid("softmax_loss: x is ", to_string(spec.x.shape), ", but must be [n, classes, ...]");
  if (!spec.x.format.is_plain() && !spec.x.format.is_any()) return Status::unsupported("softmax_loss: x must be plain");
  if (spec.x.dtype != DType::f32 && spec.x.dtype != DType::bf16 && spec.x.dtype != DType::f16)
    return Status::unsupported("softmax_loss: the cpu device has none for ", name_of(spec.x.dtype));
  return std::unique_ptr<Op>(std::make_unique<SoftmaxLoss>(spec, request.threads));
}

} // namespace dlhost::plugins::cpu
