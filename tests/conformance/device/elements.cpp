// Reorders between all dtypes and formats, draws, operands that share memory, and sums in blocks.
#include <algorithm>
#include <cmath>

#include <dlhost/random.h>

#include "device/experiment.h"
#include "device/tests.h"

namespace dlhost::conform {

namespace {

constexpr DType dtypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16,
                            DType::i64, DType::i32, DType::i8,   DType::u8};

Values sample_values(const Shape& shape, DType type, std::uint64_t seed) {
  Values values = uniform(seed, "reorder", shape.count());
  for (auto& value : values) value = (value - (type == DType::u8 ? 0 : 0.5)) * 200;
  return rounded(values, type);
}

Values reordered(const Context& context, Lab& lab, const TensorDesc& src, const TensorDesc& dst, const Values& values) {
  const Held from = lab.put(src, values), to = lab.blank(dst);
  const auto op = prepared(context, lab.device(), ReorderSpec{src, dst});
  const void* in = from.memory.data();
  void* out = to.memory.data();
  need(lab.run(*op, {&in, 1}, {&out, 1}));
  EXPECT_TRUE(lab.intact(to.memory));
  return lab.get(to);
}

void dtypes_convert(const Context& context, Device& device) {
  Lab lab(device);
  const Shape shape{3, 5, 7};
  for (const DType from : dtypes)
    for (const DType to : dtypes) {
      const TensorDesc src{from, shape, {}}, dst{to, shape, {}};
      const auto op = device.prepare(ReorderSpec{src, dst});
      if (op.status().code() == Code::unsupported) continue; // a device may lack types
      ASSERT_TRUE(op.ok()) << op.status().message();
      const Values values = sample_values(shape, from, context.seed);
      EXPECT_EQ(reordered(context, lab, src, dst, values), rounded(values, to))
          << name_of(from) << " to " << name_of(to);
    }
}

void formats_convert(const Context& context, Device& device) {
  Lab lab(device);
  for (const Shape& shape : {Shape{2, 16, 4, 4}, Shape{3, 5, 3, 2}, Shape{1, 1, 1, 1}}) {
    const auto formats = formats_of(device, shape);
    for (const DType type : {DType::f32, DType::bf16})
      for (const Format from : formats)
        for (const Format to : formats) {
          const TensorDesc src{DType::f32, shape, from}, dst{type, shape, to};
          EXPECT_GE(device.bytes(dst), static_cast<std::size_t>(shape.count()) * size_of(type));
          const Values values = sample_values(shape, DType::f32, context.seed);
          EXPECT_EQ(reordered(context, lab, src, dst, values), rounded(values, type))
              << device.format_name(src) << " to " << device.format_name(dst);
        }
  }
}

// Contiguous rows of a tensor are a tensor of that many rows.
void pieces_are_tensors(const Context& context, Device& device) {
  Lab lab(device);
  std::vector<TensorDesc> descs;
  for (const Shape& shape : {Shape{100, 75}, Shape{130, 7}, Shape{7, 5, 3, 2}}) {
    for (const Format format : formats_of(device, shape)) descs.push_back({DType::f32, shape, format});
    if (shape.rank() > 2) continue;
    GemmSpec spec{.role = Role::param_gradient, .x = {DType::f32, {12, shape[1]}, {}}, .b = {}, .epilogue = {}};
    spec.w = {DType::f32, shape, Format::any()};
    spec.y = {DType::f32, {12, shape[0]}, {}};
    descs.push_back(prepared(context, device, spec)->out[0]);
  }
  for (const TensorDesc& desc : descs) {
    SCOPED_TRACE(concat(to_string(desc.shape), " as ", device.format_name(desc)));
    const std::int64_t together = device.rows_together(desc), all = desc.shape[0];
    EXPECT_GE(together, desc.format.is_plain() ? 1 : 0);
    const Values values = sample_values(desc.shape, DType::f32, context.seed);
    const Held whole = lab.put(desc, values);
    TensorDesc piece = desc;
    std::size_t at = 0;
    for (std::int64_t row = 0; together > 0 && row < all; row += piece.shape[0]) {
      piece.shape[0] = std::min(together, all - row);
      const Held plain = lab.blank(piece.as(Format::plain()));
      const auto op = prepared(context, device, ReorderSpec{piece, plain.desc});
      const void* in = whole.memory.data() + at;
      void* out = plain.memory.data();
      need(lab.run(*op, {&in, 1}, {&out, 1}));
      const auto first = values.begin() + row * desc.shape.past(1);
      ASSERT_EQ(lab.get(plain), Values(first, first + piece.count())) << "from row " << row;
      at += device.bytes(piece);
    }
    if (together > 0) {
      EXPECT_EQ(at, device.bytes(desc));
    }
  }
}

void special_values_pass(const Context& context, Device& device) {
  Lab lab(device);
  const Values values{0.0, -0.0, INFINITY, -INFINITY, 1e-40, 3e38, 1.00390625, 1.01171875};
  const TensorDesc f32{DType::f32, {8}, {}}, bf16{DType::bf16, {8}, {}};
  EXPECT_EQ(reordered(context, lab, f32, bf16, rounded(values, DType::f32)),
            rounded(rounded(values, DType::f32), DType::bf16));
  const Values back = reordered(context, lab, f32, bf16, {NAN, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_TRUE(std::isnan(back[0]));
}

// The draws equal those of dlhost/random.h, bit for bit: two draws of an expression, rows that stand for other samples.
void draws_are_the_same_everywhere(const Context& context, Device& device) {
  Lab lab(device);
  const TensorDesc desc{DType::f32, {5, 3, 7}, {}};
  MapSpec spec{.in = {desc}, .out = {desc, desc}};
  const Term x = spec.expression.input(0), first = spec.expression.uniform(), second = spec.expression.uniform();
  spec.expression.result(x + first);
  spec.expression.result(second);
  const auto op = prepared(context, device, spec);
  const Held in = lab.put(desc, Values(105, 0.0)), a = lab.blank(desc), b = lab.blank(desc);
  const std::vector<std::uint32_t> samples{9, 4, 1000000, 0, 9};
  const DrawKey key{0x123456789abcdef, 11};
  const void* from = in.memory.data();
  void* to[] = {a.memory.data(), b.memory.data()};
  for (const bool named : {false, true}) {
    Dynamic dynamic{.key = key, .epoch = 5};
    if (named) dynamic.samples = samples;
    need(lab.run(*op, {&from, 1}, to, dynamic));
    const Values got_a = lab.get(a), got_b = lab.get(b);
    for (std::uint32_t row = 0; row < 5; ++row)
      for (std::uint64_t i = 0; i < 21; ++i) {
        const std::uint32_t sample = named ? samples[row] : row;
        ASSERT_EQ(got_a[row * 21 + i], static_cast<double>(draw(key, 5, sample, i)));
        ASSERT_EQ(got_b[row * 21 + i], static_cast<double>(draw(key, 5, sample, (std::uint64_t{1} << 40) + i)));
      }
  }
}

void results_may_replace_inputs(const Context& context, Device& device) {
  Lab lab(device);
  for (const Format format : formats_of(device, {2, 5, 3, 3})) {
    const TensorDesc desc{DType::f32, {2, 5, 3, 3}, format};
    MapSpec spec{.in = {desc, desc}, .out = {desc}};
    spec.expression.result(spec.expression.input(0) * spec.expression.input(1) + spec.expression.input(0));
    const auto op = prepared(context, device, spec);
    const Values x = uniform(1, "x", desc.count()), y = uniform(1, "y", desc.count());
    for (const std::size_t replaced : {std::size_t{0}, std::size_t{1}}) {
      const Held a = lab.put(desc, x), b = lab.put(desc, y);
      const void* in[] = {a.memory.data(), b.memory.data()};
      void* out = replaced == 0 ? a.memory.data() : b.memory.data();
      need(lab.run(*op, in, {&out, 1}));
      const Values got = lab.get(replaced == 0 ? a : b);
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], x[i] * y[i] + x[i], 1e-6);
    }
  }
}

void an_addend_may_be_the_result(const Context& context, Device& device) {
  Lab lab(device);
  const TensorDesc x{DType::f32, {4, 8}, {}}, w{DType::f32, {8, 8}, {}}, y{DType::f32, {4, 8}, {}};
  GemmSpec spec{.x = x, .w = w, .y = y, .epilogue = {.add = true}};
  const auto op = prepared(context, device, spec);
  if (!op->epilogue_taken) GTEST_SKIP() << op->remark;
  Values identity(64, 0.0);
  for (std::size_t i = 0; i < 8; ++i) identity[i * 9] = 1;
  const Held in = lab.put(x, Values(32, 2.0)), weight = lab.put(w, identity), sum = lab.put(y, Values(32, 5.0));
  const void* from[] = {in.memory.data(), weight.memory.data(), sum.memory.data()};
  void* to = sum.memory.data();
  need(lab.run(*op, from, {&to, 1}));
  EXPECT_EQ(lab.get(sum), Values(32, 7.0));
}

// dw of rows [first, last), in blocks of two samples.
Values blocked_gradient(Lab& lab, const Values& x, const Values& dy, std::size_t first, std::size_t last) {
  constexpr std::size_t in = 24, out = 10;
  const auto rows = static_cast<std::int64_t>(last - first);
  GemmSpec spec{.role = Role::param_gradient};
  spec.x = {DType::f32, {rows, in}, {}};
  spec.w = {DType::f32, {out, in}, {}};
  spec.y = {DType::f32, {rows, out}, {}};
  const auto op = need(lab.device().prepare(spec, {.block_samples = 2}));
  const auto cut = [&](const Values& all, std::size_t width) {
    return Values(all.begin() + static_cast<std::ptrdiff_t>(first * width),
                  all.begin() + static_cast<std::ptrdiff_t>(last * width));
  };
  const Held a = lab.put(spec.x, cut(x, in)), b = lab.put(spec.y, cut(dy, out)), sum = lab.blank(spec.w);
  const void* from[] = {a.memory.data(), b.memory.data()};
  void* to = sum.memory.data();
  need(lab.run(*op, from, {&to, 1}));
  return lab.get(sum);
}

// The halves of a batch sum to the bits of the whole.
void block_sums_make_a_tree(const Context& context, Device& device) {
  GemmSpec probe{.role = Role::param_gradient};
  probe.x = {DType::f32, {8, 24}, {}};
  probe.w = {DType::f32, {10, 24}, {}};
  probe.y = {DType::f32, {8, 10}, {}};
  if (auto op = device.prepare(probe, {.block_samples = 2}); op.status().code() == Code::unsupported)
    GTEST_SKIP() << op.status().message();
  Lab lab(device);
  const Values x = rounded(uniform(context.seed, "x", 192), DType::f32);
  const Values dy = rounded(uniform(context.seed, "dy", 80), DType::f32);
  const Values whole = blocked_gradient(lab, x, dy, 0, 8);
  const Values low = blocked_gradient(lab, x, dy, 0, 4), high = blocked_gradient(lab, x, dy, 4, 8);
  for (std::size_t i = 0; i < whole.size(); ++i)
    ASSERT_EQ(whole[i], static_cast<double>(static_cast<float>(low[i]) + static_cast<float>(high[i]))) << i;
}

} // namespace

std::vector<Format> formats_of(Device& device, const Shape& shape) {
  std::vector<Format> formats{Format::plain()};
  if (shape.rank() < 3 || shape.rank() > 5) return formats;
  const auto keep = [&](const TensorDesc& desc) {
    if (desc.shape == shape && std::ranges::find(formats, desc.format) == formats.end()) formats.push_back(desc.format);
  };
  for (const DType type : {DType::f32, DType::bf16}) {
    ConvSpec conv;
    const std::vector<std::int64_t> ones(shape.rank() - 2, 1), zeros(shape.rank() - 2, 0);
    conv.stride = conv.dilation = ones;
    conv.pad_low = conv.pad_high = zeros;
    conv.x = conv.y = {type, shape, Format::any()};
    Shape w{shape[1], shape[1]};
    for (std::size_t axis = 2; axis < shape.rank(); ++axis) w.push_back(1);
    conv.w = {type, w, Format::any()};
    if (auto op = device.prepare(conv); op.ok()) {
      keep((*op)->in.at(0));
      keep((*op)->out.at(0));
    }
  }
  return formats;
}

void add_element_tests(const Context& context, const std::string& device) {
  add_check(context, device, "reorder.dtypes_convert", dtypes_convert);
  add_check(context, device, "reorder.formats_convert", formats_convert);
  add_check(context, device, "reorder.pieces_are_tensors", pieces_are_tensors);
  add_check(context, device, "reorder.special_values_pass", special_values_pass);
  add_check(context, device, "map.draws_are_the_same_everywhere", draws_are_the_same_everywhere);
  add_check(context, device, "map.results_may_replace_inputs", results_may_replace_inputs);
  add_check(context, device, "gemm.an_addend_may_be_the_result", an_addend_may_be_the_result);
  add_check(context, device, "gemm.block_sums_make_a_tree", block_sums_make_a_tree);
}

} // namespace dlhost::conform
