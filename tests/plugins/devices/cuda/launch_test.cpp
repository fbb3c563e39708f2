// Cases beyond the suite's small ones: sums in parts, updates of more slices than one launch takes, and numbers that
// depend on the order.
#include "kernels/launch.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "host_stream.h"
#include "kernels/prepare.h"

namespace dlhost::test {
namespace {

using plugins::cuda::prepare_own;
using plugins::cuda::reduce;
using plugins::cuda::reduce_room;
using plugins::cuda::split_of;

// The sum of the terms' numbers, plus the item's for each: a term that is left out or taken twice shows.
struct Numbers {
  using Sum = std::int64_t;
  std::int64_t* result;
  Sum zero() const { return 0; }
  void take(Sum& sum, std::int64_t item, std::int64_t term) const { sum += term + item; }
  void join(Sum& sum, const Sum& other) const { sum += other; }
  void finish(std::int64_t item, const Sum& sum) const { result[item] = sum; }
};

TEST(CudaLaunch, EachTermIsTakenOnce) {
  HostStream stream;
  bool cut = false;
  for (const std::int64_t items : {1, 3, 513})
    for (const std::int64_t terms : {0, 1, 31, 32, 128, 129, 257, 4095, 8192, 20001}) {
      std::vector<std::int64_t> result(static_cast<std::size_t>(items), -1);
      std::vector<std::byte> room(reduce_room<Numbers>(items, terms));
      reduce(stream, items, terms, Numbers{result.data()}, room.data());
      for (std::int64_t item = 0; item < items; ++item)
        ASSERT_EQ(result[static_cast<std::size_t>(item)], terms * (terms - 1) / 2 + terms * item)
            << items << " " << terms;
      const auto split = split_of(items, terms);
      EXPECT_EQ(room.empty(), split.parts == 1);
      cut = cut || split.parts > 1;
    }
  EXPECT_TRUE(cut);
}

// Runs an op on the host.
Status run(Op& op, std::initializer_list<const void*> in, std::initializer_list<void*> out,
           const Dynamic& dynamic = {}) {
  HostStream stream;
  std::vector<std::byte> scratch(op.scratch_bytes + 256);
  op.run(stream, in, out, scratch.data(), dynamic);
  return stream.wait();
}

TensorDesc f32(Shape shape) { return {DType::f32, shape, {}}; }

TEST(CudaLaunch, ATotalOfManyIsExact) {
  constexpr std::int64_t count = 300000;
  std::vector<float> x(count);
  std::iota(x.begin(), x.end(), 0.0F);
  MapSpec spec{.in = {f32({1, count})}, .out = {f32({1, 1}), f32({1, count})}};
  spec.expression.result(spec.expression.input(0));
  spec.expression.result(spec.expression.input(0) * 2.0);
  const auto op = *prepare_own(spec);
  float total = 0;
  ASSERT_TRUE(run(*op, {x.data()}, {&total, x.data()}).ok()); // the second output replaces the input
  EXPECT_EQ(total, static_cast<float>(0.5 * count * (count - 1)));
  EXPECT_EQ(x[7], 14.0F);
}

// A sum in an input's place is written only after all reads of the input.
TEST(CudaLaunch, ASumMayReplaceAnInput) {
  MapSpec spec{.in = {f32({3, 4}), f32({1, 4})}, .out = {f32({1, 4}), f32({3, 4})}};
  spec.expression.result(spec.expression.input(0) * spec.expression.input(1));
  spec.expression.result(spec.expression.input(0) + spec.expression.input(1));
  const auto op = *prepare_own(spec);
  std::vector<float> x(12, 2.0F), y{1, 2, 3, 4}, z(12);
  ASSERT_TRUE(run(*op, {x.data(), y.data()}, {y.data(), z.data()}).ok());
  EXPECT_EQ(y, (std::vector<float>{6, 12, 18, 24}));
  EXPECT_EQ(z[5], 4.0F);
}

TEST(CudaLaunch, MoreSlicesThanALaunchTakes) {
  constexpr std::size_t slices = 150;
  MapSpec spec;
  std::vector<std::vector<float>> values, gradients, sums(slices, std::vector<float>(1));
  for (std::size_t s = 0; s < slices; ++s) {
    spec.segments.push_back(static_cast<std::int64_t>(s % 41));
    values.emplace_back(s % 41, static_cast<float>(s));
    gradients.emplace_back(s % 41, 1.0F);
  }
  spec.in = {f32({40}), f32({40})};
  spec.out = {f32({40}), f32({1})};
  const Term value = spec.expression.input(0), gradient = spec.expression.input(1);
  spec.expression.result(value - spec.expression.scalar(0) * gradient);
  spec.expression.result(gradient);
  const auto op = *prepare_own(spec);
  std::vector<const void*> in;
  std::vector<void*> out;
  for (std::size_t s = 0; s < slices; ++s) {
    in.insert(in.end(), {values[s].data(), gradients[s].data()});
    out.insert(out.end(), {values[s].data(), sums[s].data()});
  }
  HostStream stream;
  const float half = 0.5F;
  std::vector<std::byte> scratch(op->scratch_bytes + 256);
  op->execute(stream, in, out, scratch.data(), {.scalars = {&half, 1}});
  ASSERT_TRUE(stream.wait().ok());
  for (std::size_t s = 0; s < slices; ++s) {
    EXPECT_EQ(values[s], std::vector<float>(s % 41, static_cast<float>(s) - 0.5F)) << s;
    EXPECT_EQ(sums[s][0], static_cast<float>(s % 41)) << s;
  }
}

// The mean is large beside the spread, and the sum has parts.
TEST(CudaLaunch, TheVarianceOfManyIsRight) {
  constexpr std::int64_t rows = 40000;
  std::vector<float> x(rows * 2), y(rows * 2), ones(2, 1.0F), none(2), mean(2), variance(2);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1000.0F + static_cast<float>(i / 2 % 3);
  NormSpec spec{.x = f32({rows, 2}), .y = f32({rows, 2})};
  const auto op = *prepare_own(spec);
  ASSERT_TRUE(run(*op, {x.data(), ones.data(), none.data()}, {y.data(), mean.data(), variance.data()}).ok());
  EXPECT_NEAR(mean[0], 1001.0, 1e-3);
  EXPECT_NEAR(variance[1], 2.0 / 3, 1e-3);
}

TEST(CudaLaunch, ATableOfFewRowsAddsManyInOrder) {
  constexpr std::int64_t count = 999;
  std::vector<std::int32_t> indices(count);
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int32_t>(i * i % 7);
  std::vector<float> dy(count * 2), dtable(14, -1.0F), wanted(14);
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < dy.size(); ++i) wanted[static_cast<std::size_t>(indices[i / 2]) * 2 + i % 2] += dy[i];
  GatherSpec spec{
      .role = Role::param_gradient, .table = f32({7, 2}), .indices = {DType::i32, {count}, {}}, .y = f32({count, 2})};
  const auto op = *prepare_own(spec);
  ASSERT_TRUE(run(*op, {indices.data(), dy.data()}, {dtable.data()}).ok());
  EXPECT_EQ(dtable, wanted);
  indices[500] = 7;
  const Status status = run(*op, {indices.data(), dy.data()}, {dtable.data()});
  EXPECT_NE(status.message().find("7 of place 500"), std::string::npos) << status.message();
}

} // namespace
} // namespace dlhost::test
