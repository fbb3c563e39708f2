// Expressions over tensors, and ops that move elements. Draws, reorders and segments have separate tests.
#include "device/case.h"

#include "device/neurons.h"

namespace dlhost::conform {

namespace {

Case map(const std::string& name, const std::function<void(Expression&)>& build, std::vector<TensorDesc> in,
         std::vector<TensorDesc> out) {
  MapSpec spec{.in = std::move(in), .out = std::move(out)};
  build(spec.expression);
  Case made{.name = "map_" + name, .spec = spec};
  made.chooses = false;
  made.terms = 64;
  return made;
}

// Every function of an expression, in its domain.
Case every_function() {
  Case made = map(
      "functions",
      [](Expression& e) {
        const Term x = e.input(0), y = e.input(1), s = e.scalar(0);
        for (const Term term :
             {x + y, x - y * s, x / (y + 3.0), min(x, y), max(x, y), greater(x, y), select(x, y, s), -x, abs(x),
              sqrt(abs(y)), exp(x), log(y * y + 0.5), log1p(y * y), tanh(x), logistic(y), erf(x)})
          e.result(term);
      },
      {f32({5, 7}), f32({5, 7})}, std::vector<TensorDesc>(16, f32({5, 7})));
  made.scalars = {0.75F};
  return made;
}

void product(Expression& e) { e.result(e.input(0) * e.input(1)); }
void product_and_sum(Expression& e) {
  const Term together = e.input(0) * e.input(1);
  e.result(together);
  e.result(together * together);
}

Case adam() {
  Case made = map(
      "adam",
      [](Expression& e) {
        const Term value = e.input(0), gradient = e.input(1) + 1e-2 * value;
        const Term mean = 0.9 * e.input(2) + 0.1 * gradient;
        const Term square = 0.999 * e.input(3) + 0.001 * gradient * gradient;
        e.result(value - e.scalar(0) * (mean / e.scalar(1)) / (sqrt(square / e.scalar(2)) + 1e-3));
        e.result(mean);
        e.result(square);
      },
      std::vector<TensorDesc>(4, f32({7, 13})), std::vector<TensorDesc>(3, f32({7, 13})));
  made.fills["in3"] = between_numbers(0, 1);
  made.scalars = {0.01F, 0.1F, 0.5F};
  made.narrow = false;
  return made;
}

Case segments() {
  Case made = map("segments", product_and_sum, {f32({40}), f32({40})}, {f32({40}), f32({1})});
  std::get<MapSpec>(made.spec).segments = {7, 40, 1, 16};
  return made;
}

Case rows(Case base, std::int64_t valid) {
  base.name += "_partial";
  std::get<MapSpec>(base.spec).rows = true;
  base.valid = valid;
  return base;
}

Case transpose(const std::string& name, Shape src, std::vector<std::size_t> order, DType type = DType::f32) {
  Shape dst;
  for (const auto axis : order) dst.push_back(src[axis]);
  TransposeSpec spec{.src = {type, src, {}}, .dst = {type, dst, {}}, .order = std::move(order)};
  return {.name = "transpose_" + name, .spec = spec, .chooses = false};
}

Case box(const std::string& name, BoxSpec spec) { return {.name = "box_" + name, .spec = spec, .chooses = false}; }

} // namespace

std::vector<Case> map_cases() {
  const TensorDesc whole = f32({4, 6, 5}), channel = f32({1, 6, 1}), row = f32({4, 1, 1}), one = f32({1, 1, 1});
  const Case channel_sums = map("channel_sums", product_and_sum, {whole, channel}, {whole, channel});
  std::vector<Case> cases{
      every_function(),
      adam(),
      segments(),
      map("same", product, {whole, whole}, {whole}),
      map("broadcast", product, {whole, channel}, {whole}),
      map("outer", product, {f32({7, 1}), f32({1, 9})}, {f32({7, 9})}),
      map("scalar", product, {whole, f32({})}, {whole}),
      map("rows", product_and_sum, {whole, row}, {whole, row}),
      map("total", product, {whole, whole}, {one}),
      map("nothing_in", [](Expression& e) { e.result(e.constant(2.5)); }, {}, {f32({3, 5})}),
      map("long_sum", product, {f32({1, 5000}), f32({1, 5000})}, {f32({1, 1})}),
      map("integers", [](Expression& e) { e.result(e.input(0) * 0.5); }, {{DType::u8, {3, 17}, {}}}, {f32({3, 17})}),
      channel_sums,
      rows(channel_sums, 2),
      transpose("matrix", {5, 8}, {1, 0}),
      transpose("image", {2, 3, 4, 5}, {0, 2, 3, 1}),
      transpose("five", {2, 3, 1, 4, 2}, {4, 1, 0, 3, 2}),
      box("inner", {.src = f32({4, 6}), .dst = f32({5, 7}), .from = {1, 2}, .to = {2, 0}, .box = {2, 3}}),
      box("channels",
          {.src = f32({2, 3, 4}), .dst = f32({2, 8, 4}), .from = {0, 0, 0}, .to = {0, 4, 0}, .box = {2, 3, 4}}),
      box("add", {.src = f32({3, 5}), .dst = f32({3, 5}), .from = {0, 0}, .to = {0, 0}, .box = {3, 5}, .add = true}),
      box("nothing", {.src = f32({3, 5}), .dst = f32({3, 5}), .from = {1, 1}, .to = {0, 0}, .box = {0, 2}}),
  };
  cases[11].fills["in0"] = integers_below(256);
  cases[11].narrow = false;
  return cases;
}

} // namespace dlhost::conform
