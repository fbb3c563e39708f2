#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

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
                             .option("share", &Options::share, "the share of elements that is sent",
                                     Bounds{.lowest = 0, .highest = 1, .open_low = true}));
  }
  explicit TopK(Options options) : options_(options) {}

  Traits traits() const override { return {.error_feedback = options_.feedback}; }
  std::size_t bound(const Shape& shape) const override { return sent(shape) * entry; }

  Result<std::size_t> encode(const Turn&, const Shape& shape, std::span<const float> values, State state,
                             std::span<std::byte> out, Random&) override {
    const Wanted wanted(values, state.error);
    const std::span<const float> left = wanted.keep();
    Limit limit = limit_of(left, sent(shape));
    std::size_t at = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const std::uint32_t size = size_of_element(left[i]);
      if (size < limit.size || (size == limit.size && limit.equals == 0)) continue;
      if (size == limit.size) --limit.equals;
      put(out, at, static_cast<std::uint32_t>(i));
      put(out, at + sizeof(std::uint32_t), wanted.take(i));
      at += entry;
    }
    return at;
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

  // Absolute values as integers, in the same order. NaN counts as infinity, so that it is sent first.
  static std::uint32_t size_of_element(float value) {
    constexpr auto infinite = std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity());
    return std::min(std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU, infinite);
  }

  // The sent elements: all larger ones, and the first `equals` of exactly this size. Equal ones go by position, so that
  // equal values give equal bytes.
  struct Limit {
    std::uint32_t size = 0;
    std::size_t equals = 0;
  };
  // Finds the `count`th largest element by its bits, from the top in three steps: counts the next bits' values among
  // the elements that share the known bits.
  Limit limit_of(std::span<const float> left, std::size_t count) {
    Limit limit{.size = 0, .equals = count};
    for (const auto& [shift, width] : {std::pair(19U, 12U), std::pair(9U, 10U), std::pair(0U, 9U)}) {
      counts_.fill(0);
      const std::uint32_t mask = (1U << width) - 1;
      for (const float value : left)
        if (const auto size = size_of_element(value); size >> (shift + width) == limit.size)
          ++counts_[size >> shift & mask];
      std::uint32_t next = mask;
      for (; next > 0 && counts_[next] < limit.equals; --next) limit.equals -= counts_[next];
      limit.size = limit.size << width | next;
    }
    return limit;
  }

  std::size_t sent(const Shape& shape) const {
    const auto count = static_cast<double>(shape.count());
    return static_cast<std::size_t>(std::min(count, std::ceil(options_.share * count)));
  }

  Options options_;
  std::array<std::size_t, 4096> counts_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::TopK);
