// Schedules, initialisers and augmentations: must be pure functions.
#include <algorithm>
#include <cmath>
#include <limits>

#include <dlhost/parts.h>

#include "kinds/kinds.h"
#include "values.h"

namespace dlhost::conform {

namespace {

std::unique_ptr<Schedule> schedule_of(const Context& context, const std::string& name) {
  auto schedule = usable<Schedule>(context, name);
  if (const Status status = schedule->setup(context.host); !status.ok()) throw std::runtime_error(status.message());
  return schedule;
}

void schedules_are_pure(const Context& context, const std::string& name) {
  const auto schedule = schedule_of(context, name), other = schedule_of(context, name);
  for (const std::uint64_t total : {std::uint64_t{0}, std::uint64_t{1000}}) {
    std::vector<double> rates;
    const auto when = [&](std::uint64_t step) {
      return Schedule::When{.step = step, .epoch = static_cast<double>(step) / 100, .total_steps = total};
    };
    for (std::uint64_t step = 0; step < 1200; step += 7) rates.push_back(schedule->rate(when(step)));
    for (std::size_t i = rates.size(); i-- > 0;) { // backwards, as after a resume
      EXPECT_EQ(schedule->rate(when(i * 7)), rates[i]);
      EXPECT_EQ(other->rate(when(i * 7)), rates[i]);
      EXPECT_TRUE(std::isfinite(rates[i]) && rates[i] >= 0) << rates[i] << " at step " << i * 7;
    }
  }
}

void initializers_fill(const Context& context, const std::string& name) {
  const auto initializer = usable<Initializer>(context, name);
  int filled = 0;
  for (const Shape& shape : {Shape{40, 30}, Shape{7}, Shape{8, 3, 5, 5}, Shape{1, 1}}) {
    const auto fill = [&](std::uint64_t seed, std::vector<float>& values) {
      values.assign(static_cast<std::size_t>(shape.count()) + 2, std::numeric_limits<float>::quiet_NaN());
      values.front() = values.back() = 42;
      Random random({seed, 1}, 0, 0);
      const Initializer::Target target{.shape = shape, .fan_in = shape.past(1), .fan_out = shape[0]};
      return initializer->fill(std::span(values).subspan(1, values.size() - 2), target, random);
    };
    std::vector<float> first, same;
    const Status status = fill(1, first);
    ASSERT_EQ(status.ok(), fill(1, same).ok());
    if (!status.ok()) continue; // it refuses this shape
    ++filled;
    EXPECT_EQ(first, same) << "the same draws make other values";
    EXPECT_EQ(first.front(), 42) << "writes in front of the values";
    EXPECT_EQ(first.back(), 42) << "writes behind the values";
    for (const float value : first) ASSERT_TRUE(std::isfinite(value)) << to_string(shape);
    EXPECT_LT(largest(Values(first.begin() + 1, first.end() - 1)), 100);
  }
  EXPECT_GT(filled, 0) << "fills none of the shapes";
}

struct Applied {
  std::vector<std::byte> result;
  bool intact = true;
};

Applied apply(const Augmentation& augmentation, const std::vector<std::byte>& src, std::size_t size, bool training,
              std::uint32_t seed, std::byte before) {
  constexpr std::size_t guard = 64;
  std::vector<std::byte> room(size + 2 * guard, before);
  auto copy = src;
  Random random({seed, 2}, 1, 5);
  augmentation.apply(copy.data(), room.data() + guard, training, random);
  const auto untouched = [&](auto from) {
    return std::all_of(from, from + guard, [&](auto b) { return b == before; });
  };
  return {{room.begin() + guard, room.end() - guard},
          copy == src && untouched(room.begin()) && untouched(room.end() - guard)};
}

void augmentations_are_draws(const Context& context, const std::string& name) {
  int fits = 0;
  for (const DType type : {DType::u8, DType::f32}) {
    const auto augmentation = usable<Augmentation>(context, name);
    const TensorDesc sample{type, {3, 12, 10}, {}};
    const auto made = augmentation->setup(sample);
    if (!made.ok()) continue;
    ++fits;
    Values values = uniform(context.seed, "sample", sample.count());
    for (auto& value : values) value *= 255;
    const auto src = plain_bytes(values, type);
    const std::size_t size = made->plain_bytes();
    for (const std::uint32_t seed : {1U, 2U, 3U}) {
      const auto first = apply(*augmentation, src, size, true, seed, std::byte{0x11});
      EXPECT_TRUE(first.intact) << "writes to its source or beyond its result";
      EXPECT_EQ(first.result, apply(*augmentation, src, size, true, seed, std::byte{0xee}).result)
          << "the same draws make another sample, or part of it is never written";
      EXPECT_EQ(apply(*augmentation, src, size, false, seed, std::byte{0}).result,
                apply(*augmentation, src, size, false, 99, std::byte{1}).result)
          << "outside of training nothing is drawn";
    }
  }
  EXPECT_GT(fits, 0) << "takes images neither in u8 nor in f32";
}

} // namespace

void register_schedule_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::schedule, name, "is_pure", schedules_are_pure);
}
void register_initializer_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::initializer, name, "fills", initializers_fill);
}
void register_augmentation_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::augmentation, name, "is_a_function_of_its_draws", augmentations_are_draws);
}

} // namespace dlhost::conform
