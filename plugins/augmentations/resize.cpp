#include "resize.h"

#include <algorithm>
#include <cmath>

namespace dlhost::augment {

namespace {

constexpr std::int64_t smallest_factor = 512;

// The weights for one axis: pixel `i` of the target is the weighted sum of some neighbours in the source.
class Taps {
 public:
  Taps(std::int64_t source, std::int64_t target)
      : source_(source), step_(static_cast<double>(source) / static_cast<double>(target)),
        reach_(std::max(step_, 1.0)) {}

  // The most weights of a pixel.
  std::int64_t most() const { return static_cast<std::int64_t>(std::ceil(2 * reach_)); }
  std::int64_t first(std::int64_t i) const { return std::clamp<std::int64_t>(edge(i, -reach_), 0, source_ - 1); }
  // Writes the weights from first(i) on, with sum 1, and zeros up to most(). Returns the number of weights.
  std::int64_t weigh(std::int64_t i, float* weights) const {
    const std::int64_t from = first(i), end = std::min(source_, from + most()); // edges are rounded
    const std::int64_t to = std::clamp(edge(i, reach_), from + 1, end);
    double sum = 0;
    for (auto place = from; place < to; ++place) sum += weight(i, place);
    for (auto place = from; place < to; ++place) weights[place - from] = static_cast<float>(weight(i, place) / sum);
    std::fill(weights + (to - from), weights + most(), 0.0F);
    return to - from;
  }

 private:
  double centre(std::int64_t i) const { return (static_cast<double>(i) + 0.5) * step_; }
  std::int64_t edge(std::int64_t i, double off) const {
    return static_cast<std::int64_t>(std::floor(centre(i) + off + 0.5));
  }
  double weight(std::int64_t i, std::int64_t place) const {
    return std::max(0.0, 1 - std::abs(static_cast<double>(place) + 0.5 - centre(i)) / reach_);
  }

  std::int64_t source_;
  double step_, reach_;
};

// dst = the weighted sum of several lines, `stride` apart.
template <class T>
inline void mix(const T* lines, std::int64_t stride, const float* weights, std::int64_t taps, float* __restrict dst,
                std::int64_t width) {
  for (std::int64_t x = 0; x < width; ++x) dst[x] = weights[0] * static_cast<float>(lines[x]);
  for (std::int64_t tap = 1; tap < taps; ++tap) {
    lines += stride;
    for (std::int64_t x = 0; x < width; ++x) dst[x] += weights[tap] * static_cast<float>(lines[x]);
  }
}
[[DLHOST_WIDE]] void mix_lines(const std::uint8_t* lines, std::int64_t stride, const float* weights, std::int64_t taps,
                               float* dst, std::int64_t width) {
  mix(lines, stride, weights, taps, dst, width);
}
[[DLHOST_WIDE]] void mix_lines(const float* lines, std::int64_t stride, const float* weights, std::int64_t taps,
                               float* dst, std::int64_t width) {
  mix(lines, stride, weights, taps, dst, width);
}

void store(float value, std::uint8_t* to) { *to = static_cast<std::uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F)); }
void store(float value, float* to) { *to = value; }

// Works on a few columns of the target at a time: their weights and the part of a line that they read are on the stack.
template <class T> class Resize {
 public:
  Resize(const Picture& src, const Window& window, const Picture& dst)
      : src_(src), dst_(dst), window_(window), down_(window.height, dst.height), across_(window.width, dst.width) {}

  void run(const T* from, T* to) {
    // A column reads `most` pixels; each further column starts later by its distance.
    const std::int64_t most = across_.most(), together = std::clamp<std::int64_t>(room / most - 1, 1, most_columns);
    for (std::int64_t x = 0; x < dst_.width; x += together) {
      columns_ = std::min(together, dst_.width - x);
      left_ = across_.first(x);
      for (std::int64_t c = 0; c < columns_; ++c) {
        firsts_[c] = across_.first(x + c) - left_;
        span_ = firsts_[c] + across_.weigh(x + c, weights_ + c * most);
      }
      for (std::int64_t channel = 0; channel < dst_.channels; ++channel)
        make_columns(from + channel * static_cast<std::int64_t>(src_.plane()),
                     to + channel * static_cast<std::int64_t>(dst_.plane()) + x);
    }
  }

 private:
  static constexpr std::int64_t room = 4 * smallest_factor, most_columns = 128;

  void make_columns(const T* plane, T* to) {
    const std::int64_t taps = across_.most();
    std::fill_n(line_ + span_, taps, 0.0F); // the last columns read these with weight 0
    for (std::int64_t y = 0; y < dst_.height; ++y, to += dst_.width) {
      const T* lines = plane + (window_.top + down_.first(y)) * src_.width + window_.left + left_;
      const std::int64_t mixed = down_.weigh(y, line_weights_);
      mix_lines(lines, src_.width, line_weights_, mixed, line_, span_);
      const float* weights = weights_;
      for (std::int64_t c = 0; c < columns_; ++c, weights += taps) {
        const float* pixels = line_ + firsts_[c];
        float sum = 0;
        for (std::int64_t tap = 0; tap < taps; ++tap) sum += weights[tap] * pixels[tap];
        store(sum, to + c);
      }
    }
  }

  const Picture &src_, &dst_;
  Window window_;
  Taps down_, across_;
  std::int64_t columns_ = 0, left_ = 0, span_ = 0;
  std::int64_t firsts_[most_columns];
  float weights_[room], line_weights_[2 * smallest_factor], line_[2 * room];
};

} // namespace

Window middle_window(const Picture& of, double height, double width, double share) {
  const double factor =
      share * std::min(static_cast<double>(of.height) / height, static_cast<double>(of.width) / width);
  const auto side = [](double wanted, std::int64_t most) {
    return std::clamp<std::int64_t>(std::llround(wanted), 1, most);
  };
  Window window{0, 0, side(factor * height, of.height), side(factor * width, of.width)};
  window.top = (of.height - window.height) / 2;
  window.left = (of.width - window.width) / 2;
  return window;
}

Status check_resize(const Picture& src, const Picture& dst) {
  if (src.height <= smallest_factor * dst.height && src.width <= smallest_factor * dst.width) return {};
  return Status::invalid("size is ", dst.height, "x", dst.width, ", less than one part in ", smallest_factor,
                         " of the picture, which is ", src.height, "x", src.width);
}

void resize(const Picture& src, const Window& window, const Picture& dst, const std::byte* from, std::byte* to) {
  if (src.element == 1)
    Resize<std::uint8_t>(src, window, dst)
        .run(reinterpret_cast<const std::uint8_t*>(from), reinterpret_cast<std::uint8_t*>(to));
  else
    Resize<float>(src, window, dst).run(reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to));
}

} // namespace dlhost::augment
