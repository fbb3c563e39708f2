#include <algorithm>
#include <cmath>

#include <dlhost/plugin.h>

#include "bytes.h"
#include "pieces.h"

namespace dlhost::plugins {

// Cuts a slice into as many runs as elements are sent, and sends a random element of each. All elements have the same
// chance, draws are needed only for sent elements, and positions are not sent but drawn again from the seed.
class RandomK final : public Codec {
 public:
  static constexpr std::string_view name = "random_k";
  struct Options : FeedbackOptions {
    double share = 0.01;
  };
  static Schema schema() {
    return with_feedback(
        SchemaOf<Options>(
            "Elements drawn at random, 4 bytes each. Without feedback they are scaled up, so that the mean "
            "is right.")
            .option("share", &Options::share, "the share of elements that is sent",
                    Bounds{.lowest = 0, .highest = 1, .open_low = true}));
  }
  explicit RandomK(Options options) : options_(options) {}

  Traits traits() const override { return {.unbiased = !options_.feedback, .error_feedback = options_.feedback}; }
  std::size_t bound(const Shape& shape) const override { return seed_bytes + sent(shape) * sizeof(float); }

  Result<std::size_t> encode(const Turn&, const Shape& shape, std::span<const float> values, State state,
                             std::span<std::byte> out, Random& random) override {
    const Wanted wanted(values, state.error);
    const std::uint64_t seed = drawn_from(random).key.seed;
    put(out, 0, seed);
    wanted.keep();
    each(seed, shape, [&](std::size_t k, std::size_t, std::size_t, std::size_t drawn) {
      put(out, seed_bytes + k * sizeof(float), wanted.take(drawn));
    });
    return bound(shape);
  }
  Status decode_add(std::span<const std::byte>, const Shape& shape, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    DLHOST_TRY(of_size(in, bound(shape)));
    each(get<std::uint64_t>(in, 0), shape, [&](std::size_t k, std::size_t first, std::size_t last, std::size_t drawn) {
      const float scale = options_.feedback ? 1.0F : static_cast<float>(last - first);
      values[drawn] += factor * scale * get<float>(in, seed_bytes + k * sizeof(float));
    });
    return {};
  }

 private:
  static constexpr std::size_t seed_bytes = sizeof(std::uint64_t);

  std::size_t sent(const Shape& shape) const {
    const auto count = static_cast<double>(shape.count());
    return static_cast<std::size_t>(std::min(count, std::ceil(options_.share * count)));
  }

  // call(number of the run, its first and last element, the drawn element)
  template <class Call> void each(std::uint64_t seed, const Shape& shape, Call&& call) const {
    const auto count = static_cast<std::size_t>(shape.count()), runs = sent(shape);
    Random random({.seed = seed}, 0, 0);
    for (std::size_t k = 0; k < runs; ++k) {
      const std::size_t first = count * k / runs, last = count * (k + 1) / runs;
      call(k, first, last, first + random.below(static_cast<std::uint32_t>(last - first)));
    }
  }

  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::RandomK);
