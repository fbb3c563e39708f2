// Own kernels compute tensors with the channels last: compared with the same op on plain tensors, on more data than the
// suite's cases have. Division by multiplication is compared with division.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "host_stream.h"
#include "kernels/columns.h"
#include "kernels/divide.h"
#include "kernels/finish.h"
#include "kernels/fold.h"
#include "kernels/prepare.h"
#include "kernels/spread.h"

namespace dlhost::test {
namespace {

using plugins::cuda::channels_last;
using plugins::cuda::column_split;
using plugins::cuda::Divider;
using plugins::cuda::prepare_own;

// A tensor and its bytes.
struct Held {
  TensorDesc desc;
  std::vector<std::byte> bytes;
  explicit Held(const TensorDesc& desc) : desc(desc), bytes(desc.plain_bytes()) {}
  void* data() { return bytes.data(); }
};

void run(Op& op, std::vector<Held*> in, std::vector<Held*> out, const Dynamic& dynamic = {}) {
  HostStream stream;
  std::vector<std::byte> scratch(op.scratch_bytes + 256);
  std::vector<const void*> from;
  std::vector<void*> to;
  for (Held* one : in) from.push_back(one->data());
  for (Held* one : out) to.push_back(one->data());
  op.execute(stream, from, to, scratch.data(), dynamic);
  ASSERT_TRUE(stream.wait().ok());
}

Held as(Held& from, DType type, Format format) {
  Held made({type, from.desc.shape, format});
  run(**prepare_own(ReorderSpec{from.desc, made.desc}), {&from}, {&made});
  return made;
}

std::vector<float> values_of(Held& held) {
  Held plain = as(held, DType::f32, Format::plain());
  const auto* first = reinterpret_cast<const float*>(plain.data());
  return {first, first + plain.desc.count()};
}

Held drawn(const TensorDesc& desc, unsigned seed) {
  Held plain({DType::f32, desc.shape, {}});
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(1, 2);
  auto* first = reinterpret_cast<float*>(plain.data());
  for (std::int64_t i = 0; i < plain.desc.count(); ++i) first[i] = normal(engine);
  return as(plain, desc.dtype, desc.format);
}

void expect_near(Held& one, Held& other, double bound, const std::string& what) {
  const auto a = values_of(one), b = values_of(other);
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max<double>(worst, std::abs(a[i] - b[i]));
    largest = std::max<double>(largest, std::abs(b[i]));
  }
  EXPECT_LE(worst, bound * largest) << what;
  EXPECT_GT(largest, 0) << what;
}

double bound_of(DType type) { return type == DType::f32 ? 1e-5 : type == DType::bf16 ? 1e-2 : 2e-3; }

// The outputs of an op in either format, with equal inputs. Tensors of the picture's shape have the format.
template <class Spec>
void compare(Spec spec, const Shape& picture, DType type, const Dynamic& dynamic, const std::string& what) {
  std::vector<std::vector<Held>> results;
  for (const Format format : {Format::plain(), channels_last}) {
    spec.x = {type, spec.x.shape, format};
    spec.y = {type, spec.y.shape, format};
    auto made = prepare_own(spec);
    ASSERT_TRUE(made.ok()) << made.status().message();
    Op& op = **made;
    std::vector<Held> in, out;
    for (const auto& desc : op.in) in.push_back(drawn(desc, static_cast<unsigned>(in.size())));
    if constexpr (std::is_same_v<Spec, NormSpec>) // variances are not negative
      if (spec.role != Role::feature)
        for (float *v = reinterpret_cast<float*>(in[5].data()), *end = v + in[5].desc.count(); v < end; ++v)
          *v = std::abs(*v) + 0.5F;
    for (const auto& desc : op.out) out.emplace_back(desc);
    std::vector<Held*> from, to;
    for (Held& one : in) from.push_back(&one);
    for (Held& one : out) to.push_back(&one);
    run(op, from, to, dynamic);
    EXPECT_EQ(op.out[0].format, format);
    EXPECT_EQ(op.out[0].shape.rank(), picture.rank());
    results.push_back(std::move(out));
  }
  for (std::size_t o = 0; o < results[0].size(); ++o)
    expect_near(results[1][o], results[0][o], bound_of(type), concat(what, " output ", o));
}

TEST(CudaColumns, NormsAreThoseOfPlainTensors) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16})
    for (const std::int64_t channels : {64, 6, 1}) {
      const Shape picture{9, channels, 16, 20};
      EXPECT_EQ(column_split(9 * 16 * 20, channels, 1).parts > 1, channels > 1); // with cut rows and whole ones
      for (const Role role : {Role::feature, Role::input_gradient})
        for (const bool add : {false, true})
          for (const bool relu : {false, true}) {
            NormSpec spec;
            spec.role = role;
            spec.x.shape = spec.y.shape = picture;
            spec.epilogue.add = add;
            if (relu) {
              Pointwise function{.known = Known::relu, .from_output = true};
              function.feature.result(max(function.feature.input(0), 0.0));
              function.gradient.result(greater(function.gradient.input(0), 0.0));
              spec.epilogue.pointwise = function;
            }
            // The slope is found from y in one format, and from x in the other: a drawn y would not match x.
            if (relu && !add && role != Role::feature) continue;
            compare(spec, picture, type, {.valid = 7},
                    concat(name_of(type), " ", channels, role == Role::feature ? " feature" : " gradient",
                           add ? " add" : "", relu ? " relu" : ""));
          }
    }
}

TEST(CudaColumns, GroupNormsAreThoseOfPlainTensors) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16})
    for (const std::int64_t groups : {1, 3, 12})
      for (const Role role : {Role::feature, Role::input_gradient})
        for (const bool add : {false, true}) {
          const Shape picture{5, 12, 7, 6};
          NormSpec spec{.role = role, .kind = NormSpec::Kind::group, .groups = groups};
          spec.x.shape = spec.y.shape = picture;
          spec.epilogue.add = add;
          compare(
              spec, picture, type, {},
              concat(name_of(type), " ", groups, role == Role::feature ? " feature" : " gradient", add ? " add" : ""));
        }
}

// The slope from x equals the slope from y.
TEST(CudaColumns, ASlopeIsFoundFromX) {
  const Shape picture{4, 8, 6, 6};
  NormSpec spec;
  spec.x = spec.y = {DType::f32, picture, channels_last};
  Pointwise function{.known = Known::relu, .from_output = true};
  function.feature.result(max(function.feature.input(0), 0.0));
  function.gradient.result(greater(function.gradient.input(0), 0.0));
  spec.epilogue.pointwise = function;
  const TensorDesc param{DType::f32, {8}, {}};
  Held x = drawn(spec.x, 1), dy = drawn(spec.y, 2), scale = drawn(param, 3), shift = drawn(param, 4);
  Held y(spec.y), mean(param), variance(param), dx(spec.x), dscale(param), dshift(param);
  run(**prepare_own(spec), {&x, &scale, &shift}, {&y, &mean, &variance});
  spec.role = Role::input_gradient;
  const auto op = *prepare_own(spec);
  ASSERT_EQ(op->in.size(), 6U) << "y is not wanted";
  run(*op, {&x, &dy, &scale, &shift, &mean, &variance}, {&dx, &dscale, &dshift});
  std::vector<double> expected(8);
  const auto results = values_of(y), gradients = values_of(dy);
  bool some = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    some = some || results[i] == 0;
    if (results[i] > 0) expected[i / 36 % 8] += static_cast<double>(gradients[i]);
  }
  EXPECT_TRUE(some);
  const auto made = values_of(dshift);
  for (std::size_t c = 0; c < 8; ++c) EXPECT_NEAR(made[c], expected[c], 1e-3) << c;
}

TEST(CudaColumns, PoolsAreThoseOfPlainTensors) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16})
    for (const std::int64_t channels : {16, 5})
      for (const auto kind : {PoolSpec::Kind::max, PoolSpec::Kind::average})
        for (const bool padded : {false, true}) {
          PoolSpec spec;
          spec.kind = kind;
          spec.count_padding = padded;
          if (padded) spec.uncounted = {1, 0};
          spec.x.shape = {3, channels, 13, 11};
          spec.y.shape = {3, channels, padded ? 7 : 6, padded ? 6 : 5};
          spec.window = {3, 3};
          spec.stride = {2, 2};
          spec.pad_low = spec.pad_high = {padded ? 1 : 0, padded ? 1 : 0};
          std::vector<std::vector<float>> features, gradients;
          for (const Format format : {Format::plain(), channels_last}) {
            spec.role = Role::feature;
            spec.x = {type, spec.x.shape, format};
            spec.y = {type, spec.y.shape, format};
            Held x = drawn(spec.x, 1), dy = drawn(spec.y, 2), y(spec.y), dx(spec.x);
            Held kept({DType::i32, spec.y.shape, {}});
            run(**prepare_own(spec), {&x}, {&y, &kept});
            spec.role = Role::input_gradient;
            run(**prepare_own(spec), {&dy, &kept}, {&dx});
            features.push_back(values_of(y));
            gradients.push_back(values_of(dx));
          }
          EXPECT_EQ(features[0], features[1]) << name_of(type) << channels;
          EXPECT_EQ(gradients[0], gradients[1]) << name_of(type) << channels;
        }
}

TEST(CudaColumns, BiasAndFunctionAreThoseOfPlainTensors) {
  using namespace plugins::cuda;
  constexpr std::int64_t channels = 24, places = 1000;
  const TensorDesc desc{DType::f32, {2, channels, places / 2, 1}, channels_last}, param{DType::f32, {channels}, {}};
  Held product = drawn(desc, 1), addend = drawn(desc, 2), bias = drawn(param, 3), result(desc), sums(param);
  Finish finish{.bias = {bias.data(), DType::f32}, .addend = {addend.data(), DType::f32}, .channels = channels};
  HostStream stream;
  finish_all(stream, desc.count(), {{product.data(), DType::f32}, {result.data(), DType::f32}, finish});
  std::vector<std::byte> room(bias_gradient_room(channels, places));
  bias_gradient(stream, places, {{product.data(), DType::f32}, {sums.data(), DType::f32}, 1, channels}, room.data());
  const auto p = values_of(product), a = values_of(addend), b = values_of(bias), r = values_of(result);
  std::vector<double> expected(channels);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const std::size_t c = i / (places / 2) % channels;
    EXPECT_EQ(r[i], p[i] + b[c] + a[i]);
    expected[c] += static_cast<double>(p[i]);
  }
  const auto made = values_of(sums);
  for (std::size_t c = 0; c < channels; ++c) EXPECT_NEAR(made[c], expected[c], 1e-2) << c;
}

// Folding the stride into channels keeps a convolution's sums, and the gradient of its weights.
TEST(CudaFold, TheConvolutionIsTheSame) {
  using namespace plugins::cuda;
  struct Case {
    std::int64_t channels, size, window, stride, pad;
  };
  for (const DType type : {DType::f32, DType::bf16})
    for (const auto& [channels, size, window, stride, pad] :
         {Case{3, 31, 11, 4, 2}, Case{3, 22, 7, 2, 3}, Case{1, 9, 3, 1, 1}, Case{2, 10, 2, 3, 0}}) {
      const std::int64_t made = (size + 2 * pad - window) / stride + 1;
      ConvSpec spec;
      spec.x = {type, {2, channels, size, size}, {}};
      spec.w = {type, {5, channels, window, window}, channels_last};
      spec.y = {DType::f32, {2, 5, made, made}, channels_last};
      spec.stride = {stride, stride};
      spec.pad_low = spec.pad_high = {pad, pad};
      spec.dilation = {1, 1};
      const auto geometry = *Geometry::make("conv", spec.x.shape, spec.y.shape, std::vector{window, window},
                                            spec.stride, spec.pad_low, spec.pad_high, spec.dilation);
      const Fold fold(geometry, channels, type);
      ConvSpec folded = spec;
      folded.x = {type, {2, fold.folded_channels, fold.places[1], fold.places[2]}, channels_last};
      folded.w = {type, {5, fold.folded_channels, fold.folded_window[1], fold.folded_window[2]}, channels_last};
      folded.stride = {1, 1};
      folded.pad_low = folded.pad_high = {0, 0};
      Held x = drawn(spec.x, 1), w = drawn(spec.w, 2), dy = drawn(spec.y, 3), y(spec.y), folded_y(spec.y);
      Held folded_x(folded.x), folded_w(folded.w);
      HostStream stream;
      fold_input(stream, fold, type, 2, x.data(), {channels, size * size, false}, folded_x.data());
      fold_weights(stream, fold, type, 5, w.data(), {channels, window * window, true}, folded_w.data());
      run(**prepare_direct(spec, Format::plain()), {&x, &w}, {&y});
      run(**prepare_direct(folded, Format::plain()), {&folded_x, &folded_w}, {&folded_y});
      expect_near(folded_y, y, 1e-5, concat("y of ", window, " by ", stride));
      spec.role = folded.role = Role::param_gradient;
      spec.w.dtype = folded.w.dtype = DType::f32;
      Held dw(spec.w), folded_dw(folded.w), unfolded(spec.w);
      run(**prepare_direct(spec, Format::plain()), {&x, &dy}, {&dw});
      run(**prepare_direct(folded, Format::plain()), {&folded_x, &dy}, {&folded_dw});
      unfold_weights(stream, fold, 5, {folded_dw.data(), DType::f32}, {channels, window * window, true},
                     {unfolded.data(), DType::f32});
      expect_near(unfolded, dw, 1e-5, concat("dw of ", window, " by ", stride));
    }
}

// Spreads join in any parts, and far from zero.
TEST(CudaColumns, SpreadsJoin) {
  std::mt19937 engine(5);
  std::normal_distribution<float> normal(1000, 0.5F);
  std::vector<float> values(3000);
  for (float& value : values) value = normal(engine);
  values[0] = 1100; // distances count from the first value
  double mean = 0, variance = 0;
  for (const float value : values) mean += static_cast<double>(value) / 3000;
  for (const float value : values)
    variance += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean) / 3000;
  plugins::cuda::Spread parts[7], all;
  for (std::size_t i = 0; i < values.size(); ++i) parts[i % 7].take(values[i]);
  for (const auto& part : parts) all.join(part);
  all.join({});
  EXPECT_NEAR(all.mean(), mean, 1e-3);
  EXPECT_NEAR(all.variance(), variance, 5e-4 * variance); // the far value costs its part some digits
}

TEST(CudaDivider, DividesAsDivisionDoes) {
  std::mt19937 engine(3);
  for (const std::int64_t by :
       {1, 2, 3, 5, 7, 11, 16, 55, 63, 64, 65, 3025, 50176, 65535, 65537, 1000003, 1073741824, 2147483647}) {
    const Divider divider(by);
    const auto check = [&](std::int64_t number) {
      if (number < 0 || number > 2147483647) return;
      ASSERT_EQ(divider(static_cast<std::int32_t>(number)), number / by) << number << " by " << by;
    };
    for (std::int64_t near = -2; near <= 2; ++near)
      for (const std::int64_t at : {std::int64_t{0}, by, 2 * by, 2147483647 / by * by, std::int64_t{2147483647}})
        check(at + near);
    for (int i = 0; i < 2000; ++i) check(engine() >> 1U);
  }
}

} // namespace
} // namespace dlhost::test
