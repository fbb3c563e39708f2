#include "resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dlhost::input {

namespace {

// The weights for one axis: pixel `i` of the target is the weighted sum of `taps` source pixels from first(i) on.
class Axis {
 public:
  Axis(std::int64_t source, std::int64_t target)
      : source_(source), step_(static_cast<double>(source) / static_cast<double>(target)),
        reach_(step_ < 2 ? 1 : step_), taps_(step_ < 2 ? 2 : static_cast<std::int64_t>(std::ceil(2 * step_)) + 1) {}

  std::int64_t taps() const { return taps_; }

  // The source's pixels and their weights; pixels beyond the edge repeat the edge.
  void read(std::int64_t i, std::int64_t* places, float* weights) const {
    const double centre = (static_cast<double>(i) + 0.5) * step_ - 0.5;
    const auto first = static_cast<std::int64_t>(std::ceil(centre - reach_));
    double sum = 0;
    for (std::int64_t tap = 0; tap < taps_; ++tap) {
      const double weight = std::max(0.0, 1 - std::abs(static_cast<double>(first + tap) - centre) / reach_);
      places[tap] = std::clamp<std::int64_t>(first + tap, 0, source_ - 1);
      weights[tap] = static_cast<float>(weight);
      sum += weight;
    }
    for (std::int64_t tap = 0; tap < taps_; ++tap) weights[tap] = static_cast<float>(weights[tap] / sum);
  }

 private:
  std::int64_t source_;
  double step_, reach_;
  std::int64_t taps_;
};

[[DLHOST_WIDE]] void split_colours(const std::uint8_t* src, std::uint8_t* __restrict red,
                                   std::uint8_t* __restrict green, std::uint8_t* __restrict blue, std::size_t pixels) {
  for (std::size_t i = 0; i < pixels; ++i) {
    red[i] = src[3 * i];
    green[i] = src[3 * i + 1];
    blue[i] = src[3 * i + 2];
  }
}

// Three colours and the next value as one vector: compilers do not vectorise a loop over colours.
using Four = float __attribute__((vector_size(16)));
using FourNumbers = std::int32_t __attribute__((vector_size(16)));

Four four(const float* at) {
  Four values;
  std::memcpy(&values, at, sizeof values);
  return values;
}

// How a line of the target is computed from a line of the source's colours. The weights of a pixel sum to 1, so results
// from bytes fit into bytes.
struct Across {
  std::int64_t width, taps;
  const std::int64_t* places;
  const float* weights;
};

void read_grey(const float* line, Across across, std::uint8_t* dst, std::size_t) {
  for (std::int64_t x = 0; x < across.width; ++x, across.places += across.taps, across.weights += across.taps) {
    float sum = 0.5F;
    for (std::int64_t tap = 0; tap < across.taps; ++tap) sum += across.weights[tap] * line[across.places[tap]];
    dst[x] = static_cast<std::uint8_t>(sum);
  }
}

[[DLHOST_WIDE]] void read_colours(const float* line, Across across, std::uint8_t* dst, std::size_t plane) {
  for (std::int64_t x = 0; x < across.width; ++x, across.places += across.taps, across.weights += across.taps) {
    // Nearly every picture has two taps.
    Four sums = across.weights[0] * four(line + 3 * across.places[0]) +
                across.weights[1] * four(line + 3 * across.places[1]) + 0.5F;
    for (std::int64_t tap = 2; tap < across.taps; ++tap)
      sums += across.weights[tap] * four(line + 3 * across.places[tap]);
    const auto rounded = __builtin_convertvector(sums, FourNumbers);
    for (std::size_t c = 0; c < 3; ++c)
      dst[c * plane + static_cast<std::size_t>(x)] = static_cast<std::uint8_t>(rounded[c]);
  }
}

[[DLHOST_WIDE]] void mix_lines(const std::uint8_t* one, float one_weight, const std::uint8_t* other, float other_weight,
                               float* __restrict dst, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    dst[i] = one_weight * static_cast<float>(one[i]) + other_weight * static_cast<float>(other[i]);
}

[[DLHOST_WIDE]] void add_line(const std::uint8_t* src, float weight, float* __restrict dst, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) dst[i] += weight * static_cast<float>(src[i]);
}

// The shown part of a picture, by line.
struct Lines {
  explicit Lines(const Pixels& src)
      : first(src.data.data() + (src.shown.top * src.width + src.shown.left) * src.channels),
        stride(src.width * src.channels), length(static_cast<std::size_t>(src.shown.width * src.channels)) {}
  const std::uint8_t* operator[](std::int64_t line) const { return first + line * stride; }

  const std::uint8_t* first;
  std::int64_t stride;
  std::size_t length;
};

// dst = the weighted sum of several lines.
void mix(const Lines& lines, std::int64_t taps, const std::int64_t* places, const float* weights, float* dst) {
  mix_lines(lines[places[0]], weights[0], lines[places[1]], weights[1], dst, lines.length);
  for (std::int64_t tap = 2; tap < taps; ++tap)
    if (weights[tap] != 0) add_line(lines[places[tap]], weights[tap], dst, lines.length);
}

void copy(const Lines& lines, const Pixels& src, std::uint8_t* dst) {
  const auto width = static_cast<std::size_t>(src.shown.width);
  const std::size_t plane = width * static_cast<std::size_t>(src.shown.height);
  const std::size_t run = src.shown.width == src.width ? plane : width; // whole lines are contiguous
  for (std::size_t at = 0; at < plane; at += run) {
    const std::uint8_t* const line = lines[static_cast<std::int64_t>(at / width)];
    if (src.channels == 1)
      std::memcpy(dst + at, line, run);
    else
      split_colours(line, dst + at, dst + plane + at, dst + 2 * plane + at, run);
  }
}

// The scratch memory of a resampling, divided into its parts.
struct Tables {
  Tables(std::vector<std::byte>& scratch, std::size_t line_length, const Axis& down, const Axis& across,
         std::int64_t width) {
    const std::size_t line_size = line_length + 1; // the last pixel's colours are read as four
    const auto x_size = static_cast<std::size_t>(width * across.taps()), y_size = static_cast<std::size_t>(down.taps());
    scratch.resize(line_size * sizeof(float) + (x_size + y_size) * (sizeof(std::int64_t) + sizeof(float)));
    x_places = reinterpret_cast<std::int64_t*>(scratch.data());
    y_places = x_places + x_size;
    x_weights = reinterpret_cast<float*>(y_places + y_size);
    y_weights = x_weights + x_size;
    line = y_weights + y_size;
  }
  std::int64_t *x_places, *y_places;
  float *x_weights, *y_weights, *line;
};

} // namespace

void resample(const Pixels& src, const PictureTarget& target, std::uint8_t* dst, std::vector<std::byte>& scratch) {
  const Lines lines(src);
  if (src.shown.height == target.height && src.shown.width == target.width) return copy(lines, src, dst);
  const auto plane = static_cast<std::size_t>(target.height * target.width);
  const Axis down(src.shown.height, target.height), across(src.shown.width, target.width);
  const Tables tables(scratch, lines.length, down, across, target.width);
  tables.line[lines.length] = 0;
  for (std::int64_t x = 0; x < target.width; ++x)
    across.read(x, tables.x_places + x * across.taps(), tables.x_weights + x * across.taps());
  const Across row{target.width, across.taps(), tables.x_places, tables.x_weights};
  const auto read = src.channels == 1 ? read_grey : read_colours;
  for (std::int64_t y = 0; y < target.height; ++y) {
    down.read(y, tables.y_places, tables.y_weights);
    mix(lines, down.taps(), tables.y_places, tables.y_weights, tables.line);
    read(tables.line, row, dst + y * target.width, plane);
  }
}

} // namespace dlhost::input
