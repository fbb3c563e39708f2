// Local response normalisation. A sample is copied to f32 with gaps of zeros, so wide that every window is the sum of
// flat shifts of the whole buffer. Sums are vector loops over the whole buffer, in the second cache; the steps between
// are done strip by strip, in the first.
#include <algorithm>
#include <cmath>
#include <utility>

#include <dlhost/parallel.h>

#include "channels.h"
#include "map/kernels.h"
#include "prepare.h"

namespace dlhost::plugins::cpu {
namespace {

// A run of neighbouring elements: its offsets in the tensor and in the buffer.
struct Run {
  std::int64_t tensor, buffer, count;
};

// The offsets of a window's elements along one axis, from its middle; backward: of the middles of the windows that
// contain an element.
struct Window {
  std::vector<std::int64_t> forward, backward;
};

struct Geometry {
  std::vector<Run> runs;
  std::int64_t elements = 0;   // of the buffer, without its margins
  std::vector<Window> windows; // one for each axis
  std::int64_t margin = widest;
};

Window window_of(std::int64_t size, std::int64_t step) {
  Window window;
  for (std::int64_t i = 0; i < size; ++i) {
    window.forward.push_back((i - size / 2) * step);
    window.backward.push_back(-window.forward.back());
  }
  return window;
}

// Rows of `pitch` elements: neighbouring channels with a gap after them; or, if a channel's image is contiguous, the
// image.
Geometry across(const Channels& channels, std::int64_t size) {
  Geometry made;
  const auto spatial = channels.per_sample();
  const auto lanes = channels.lanes();
  const bool planes = lanes == 1;
  const auto pitch = planes ? spatial : channels.groups() * lanes + size;
  for (std::int64_t which = 0; which < channels.groups(); ++which)
    channels.each_pixel(which, [&](std::int64_t from, std::int64_t pixel, std::int64_t width) {
      made.runs.push_back({from, planes ? from : pixel * pitch + which * lanes, width});
    });
  made.elements = planes ? channels.channels() * spatial : spatial * pitch;
  made.windows = {window_of(size, planes ? spatial : 1)};
  return made;
}

// Images with a gap after each row and rows of zeros after each image, of neighbouring channels or of one.
Geometry within(const Channels& channels, const Shape& shape, std::int64_t size) {
  Geometry made;
  const auto height = shape[2], width = shape[3];
  const auto lanes = channels.lanes();
  const auto pitch = (width + size) * lanes, image = (height + size) * pitch;
  for (std::int64_t which = 0; which < channels.groups(); ++which) {
    channels.each_pixel(which, [&](std::int64_t from, std::int64_t pixel, std::int64_t side_by_side) {
      made.runs.push_back({from, which * image + pixel / width * pitch + pixel % width * lanes, side_by_side});
    });
  }
  made.elements = channels.groups() * image;
  made.windows = {window_of(size, lanes), window_of(size, pitch)};
  return made;
}

// Joins runs that are neighbours in both places.
void join(std::vector<Run>& runs) {
  std::vector<Run> joined;
  for (const auto& run : runs) {
    if (!joined.empty() && joined.back().tensor + joined.back().count == run.tensor &&
        joined.back().buffer + joined.back().count == run.buffer)
      joined.back().count += run.count;
    else
      joined.push_back(run);
  }
  runs = std::move(joined);
}

class Lrn final : public Op {
 public:
  Lrn(const LrnSpec& spec, const Channels& channels, int threads)
      : gradient_(spec.role != Role::feature), type_(spec.x.dtype), threads_(threads), samples_(spec.x.shape[0]),
        sample_elements_(elements_of(spec.x) / std::max<std::int64_t>(samples_, 1)), beta_(spec.beta),
        geometry_(spec.within_channel ? within(channels, spec.x.shape, spec.size) : across(channels, spec.size)) {
    join(geometry_.runs);
    geometry_.elements = (geometry_.elements + widest - 1) / widest * widest; // loops write whole vectors
    for (const auto& window : geometry_.windows)
      for (auto shift : window.forward) geometry_.margin = std::max(geometry_.margin, std::abs(shift) + widest);
    const auto summed = spec.within_channel ? spec.size * spec.size : spec.size;
    by_sum_ = {static_cast<float>(spec.alpha / static_cast<double>(summed))};
    k_ = {static_cast<float>(spec.k)};
    exponent_ = {static_cast<float>(-spec.beta)};
    slope_ = {static_cast<float>(2 * spec.alpha * spec.beta / static_cast<double>(summed))};
    in = {spec.x};
    if (gradient_) in.push_back(spec.y);
    out = {gradient_ ? spec.x : spec.y};
    room_ = geometry_.elements + 2 * geometry_.margin;
    scratch_bytes = static_cast<std::size_t>(threads * worker_room()) * sizeof(float);
    operations = (2.0 * static_cast<double>(summed) + 20) * static_cast<double>(spec.x.count());
    kernel = "shifts";
  }

  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic&) override {
    const auto workers = std::min<std::int64_t>({threads_, parallel_threads(), samples_});
    parallel(workers, [&](std::int64_t worker) {
      float* memory = static_cast<float*>(scratch) + worker * worker_room();
      std::fill_n(memory, worker_room(), 0.0F);
      Place place;
      for (auto* strip : {&place.scale, &place.power}) *strip = std::exchange(memory, memory + longest);
      for (auto* whole : {&place.x, &place.squares, &place.sums, &place.y, &place.product})
        *whole = std::exchange(memory, memory + room_) + geometry_.margin;
      for (auto n = samples_ * worker / workers; n < samples_ * (worker + 1) / workers; ++n) {
        if (gradient_)
          gradient(place, inputs, outputs[0], n);
        else
          feature(place, inputs[0], outputs[0], n);
      }
    });
  }

 private:
  // A constant operand for a loop.
  struct Same {
    float values[widest];
    Same(float value = 0) { std::fill_n(values, widest, value); }
    operator Walk() const { return {values, 0}; }
  };

  static constexpr std::int64_t longest = 1024; // strip length: half a dozen strips fit into the first cache

  // One worker's memory: strips, and buffers for a whole sample.
  struct Place {
    float *scale, *power;
    float *x, *squares, *sums, *y, *product; // y: the result, or its gradient
  };
  std::int64_t worker_room() const { return 2 * longest + 5 * room_; }

  // Loops over one strip.
  struct Strip {
    std::int64_t count;
    void step(Code code, Walk a, Walk b, Walk c, float* to) const { map_kernels().step(code, a, b, c, to, count); }
    void step(Code code, Walk a, Walk b, float* to) const { step(code, a, b, a, to); }
  };
  template <class Call> void each_strip(Call&& call) const {
    for (std::int64_t at = 0; at < geometry_.elements; at += longest)
      call(Strip{std::min(longest, geometry_.elements - at)}, at);
  }

  void take(const void* tensor, std::int64_t sample, float* buffer) const {
    const auto size = static_cast<std::int64_t>(size_of(type_));
    const auto* from = static_cast<const std::byte*>(tensor) + sample * sample_elements_ * size;
    for (const auto& run : geometry_.runs)
      map_kernels().load(type_, from + run.tensor * size, buffer + run.buffer, run.count);
  }
  void put(const float* buffer, void* tensor, std::int64_t sample) const {
    const auto size = static_cast<std::int64_t>(size_of(type_));
    auto* to = static_cast<std::byte*>(tensor) + sample * sample_elements_ * size;
    for (const auto& run : geometry_.runs)
      map_kernels().store(type_, buffer + run.buffer, to + run.tensor * size, run.count);
  }

  // The sums over the window of `from`, with `other` as temporary; returns the one with the result. `sign` -1: the
  // reversed window.
  float* sum(float* from, float* other, int sign) const {
    for (const auto& window : geometry_.windows) {
      const auto& shifts = sign > 0 ? window.forward : window.backward;
      map_kernels().sum_shifted(from, shifts.data(), shifts.size(), other, geometry_.elements);
      std::swap(from, other);
    }
    return from;
  }

  const float* sum_squares(const Place& place) const {
    each_strip([&](Strip strip, std::int64_t at) {
      strip.step(Code::multiply, Walk{place.x + at}, Walk{place.x + at}, place.squares + at);
    });
    return sum(place.squares, place.sums, 1);
  }

  // Computes the scaled sums, and the power by which x is multiplied.
  void raise(Strip strip, const float* sums, const Place& place) const {
    float *scale = place.scale, *power = place.power;
    strip.step(Code::multiply_add, Walk{sums}, by_sum_, k_, scale);
    if (beta_ == 0.75) return strip.step(Code::minus_three_quarters, Walk{scale}, Walk{scale}, power);
    strip.step(Code::logarithm, Walk{scale}, Walk{scale}, power);
    strip.step(Code::multiply, Walk{power}, exponent_, power);
    strip.step(Code::exponential, Walk{power}, Walk{power}, power);
  }

  void feature(const Place& place, const void* x, void* y, std::int64_t sample) const {
    take(x, sample, place.x);
    const float* sums = sum_squares(place);
    each_strip([&](Strip strip, std::int64_t at) {
      raise(strip, sums + at, place);
      strip.step(Code::multiply, Walk{place.x + at}, Walk{place.power}, place.y + at);
    });
    put(place.y, y, sample);
  }

  // dx = dy power - slope x (sum over the windows that x is in of dy x power / scale)
  void gradient(const Place& place, std::span<const void* const> inputs, void* dx, std::int64_t sample) const {
    float *x = place.x, *dy = place.y, *product = place.product;
    take(inputs[0], sample, x);
    take(inputs[1], sample, dy);
    const float* squares = sum_squares(place);
    each_strip([&](Strip strip, std::int64_t at) {
      raise(strip, squares + at, place);
      strip.step(Code::multiply, Walk{dy + at}, Walk{place.power}, dy + at);
      strip.step(Code::multiply, Walk{dy + at}, Walk{x + at}, product + at);
      strip.step(Code::divide, Walk{product + at}, Walk{place.scale}, product + at);
    });
    const float* sums = sum(product, place.sums, -1);
    each_strip([&](Strip strip, std::int64_t at) {
      strip.step(Code::multiply, Walk{x + at}, slope_, place.scale);
      strip.step(Code::negated_multiply, Walk{place.scale}, Walk{sums + at}, Walk{dy + at}, dy + at);
    });
    put(dy, dx, sample);
    clear_gaps(dy);
  }

  // Clears the gaps of dy: only these keep traces of earlier sums and are read again.
  void clear_gaps(float* buffer) const { std::fill_n(buffer, geometry_.elements, 0.0F); }

  bool gradient_;
  DType type_;
  std::int64_t threads_, samples_, sample_elements_;
  double beta_;
  Geometry geometry_;
  std::int64_t room_ = 0; // of one buffer, in floats
  Same by_sum_, k_, exponent_, slope_;
};

} // namespace

Prepared prepare(const LrnSpec& wanted, const Request& request) {
  LrnSpec spec = wanted;
  if (spec.x.format.is_any()) spec.x.format = spec.y.format.is_any() ? Format::plain() : spec.y.format;
  if (spec.y.format.is_any()) spec.y.format = spec.x.format;
  if (spec.x != spec.y) return Status::invalid("lrn: x and y must have one shape, format and dtype");
  if (spec.size < 1) return Status::invalid("lrn: size is ", spec.size, ", but must be at least 1");
  if (spec.within_channel && spec.x.shape.rank() != 4)
    return Status::invalid("lrn: within a channel it needs x[n, c, height, width], not ", to_string(spec.x.shape));
  DLHOST_ASSIGN(const auto channels, Channels::of(spec.x));
  return std::unique_ptr<Op>(std::make_unique<Lrn>(spec, channels, request.threads));
}

} // namespace dlhost::plugins::cpu
