// Maps of every function, dtype and shape with a generated text.
#pragma once

#include <vector>

#include <dlhost/ops.h>

namespace dlhost::test {

inline MapSpec of_all_functions(const Shape& space, DType type) {
  MapSpec spec;
  Expression& f = spec.expression;
  const Term a = f.input(0), b = f.input(1), c = f.input(2) * f.scalar(0);
  const std::vector<Term> terms{a + b,         a - b,           a * b,   a / b,      min(a, b),    max(a, b),
                                greater(a, b), select(a, b, c), -a,      abs(a),     sqrt(abs(b)), exp(a),
                                log(abs(b)),   log1p(abs(a)),   tanh(a), logistic(a)};
  Term sum = erf(a);
  for (const Term term : terms)
    sum = sum + select(abs(term) - 1e6, f.constant(3.5), term); // so that no term hides the others
  f.result(sum);
  f.result(min(a, c));
  f.result(max(b, a));
  spec.in = {{type, space, {}}, {type, space, {}}, {DType::f32, space, {}}};
  spec.out = {{DType::f32, space, {}}, {type, space, {}}, {type, space, {}}};
  return spec;
}

inline std::vector<MapSpec> maps_of_all_kinds() {
  std::vector<MapSpec> all;
  for (const DType type :
       {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32, DType::i8, DType::u8})
    all.push_back(of_all_functions({1027}, type));
  MapSpec broadcast = of_all_functions({3, 5, 7, 2}, DType::f32);
  broadcast.in[0].shape = {1, 5, 1, 1};
  broadcast.in[1].shape = {3, 1, 7, 2};
  broadcast.in[2].shape = {1, 1, 1, 1};
  all.push_back(broadcast);
  MapSpec with_sum = of_all_functions({6, 50}, DType::f32); // another kernel makes one result
  with_sum.out[1].shape = {1, 50};
  all.push_back(with_sum);
  MapSpec slices = of_all_functions({3000}, DType::f32);
  for (std::int64_t s = 0; s < 90; ++s) slices.segments.push_back(s == 40 ? 3000 : s * 7 % 1100);
  all.push_back(slices);
  MapSpec narrow = of_all_functions({3000}, DType::bf16);
  narrow.segments = slices.segments;
  all.push_back(narrow);
  return all;
}

} // namespace dlhost::test
