#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <dlhost/plugin.h>

#include "bytes.h"
#include "feedback.h"

namespace dlhost::plugins {

class TopK final : public Codec {
 public:
  static constexpr std::string_view name = "top_k";
  struct Options : FeedbackOptions {
    double share = 0.01;
  };
  static Schema schema() {
    return with_feedback(SchemaOf<Options>("The elements of the greatest size: 8 bytes for each that is sent.")
                             .option("share", &Options::share, "of the elements, that is sent",
                                     Bounds{.lowest = 0, .highest = 1, .open_low = true}));
  }
  explicit TopK(Options options) : options_(options) {}

  Traits traits() const override { return {.error_feedback = options_.feedback}; }
  std::size_t bound(const Shape& shape) const override { return sent(shape) * entry; }

  Result<std::size_t> encode(const Turn&, const Shape& shape, std::span<const float> values, State state,
                             std::span<std::byte> out, Random&) override {
    const Wanted wanted(values, state.error);
    const std::size_t count = sent(shape);
    order_.resize(values.size());
    std::iota(order_.begin(), order_.end(), 0U);
    // Equals go by their place, so that equal values make equal bytes; what is not a number goes first, to be seen.
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      const float x = size_of_element(wanted[a]), y = size_of_element(wanted[b]);
      return x != y ? x > y : a < b;
    };
    if (count < order_.size())
      std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count), order_.end(), before);
    std::sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t k = 0, i = 0; i < values.size(); ++i) {
      float arrives = 0;
      if (k < count && order_[k] == i) {
        arrives = wanted[i];
        put(out, k * entry, order_[k]);
        put(out, k * entry + sizeof(std::uint32_t), arrives);
        ++k;
      }
      wanted.sent(i, arrives);
    }
    return count * entry;
  }
  Status decode_add(std::span<const std::byte>, const Shape& shape, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    DLHOST_TRY(of_size(in, bound(shape)));
    for (std::size_t at = 0; at < in.size(); at += entry) {
      const auto i = get<std::uint32_t>(in, at);
      if (i >= values.size()) return Status::corrupt("an encoding has element ", i, " of a slice of ", values.size());
      values[i] += factor * get<float>(in, at + sizeof(std::uint32_t));
    }
    return {};
  }

 private:
  static constexpr std::size_t entry = sizeof(std::uint32_t) + sizeof(float);

  static float size_of_element(float value) { return std::isnan(value) ? INFINITY : std::abs(value); }
  std::size_t sent(const Shape& shape) const {
    const auto count = static_cast<double>(shape.count());
    return static_cast<std::size_t>(std::min(count, std::ceil(options_.share * count)));
  }

  Options options_;
  std::vector<std::uint32_t> order_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::TopK);
