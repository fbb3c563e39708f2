// Pooling and local response normalisation.
#include "device/case.h"

namespace dlhost::conform {

namespace {

using List = std::vector<std::int64_t>;

struct Pooling {
  Shape x;
  List window, stride, pad_low, pad_high;
};

Case pool(const std::string& name, PoolSpec::Kind kind, bool count_padding, const Pooling& p) {
  PoolSpec spec{.kind = kind, .count_padding = count_padding, .x = {DType::f32, p.x, {}}};
  spec.window = p.window;
  spec.stride = p.stride;
  const List none(p.window.size(), 0);
  spec.pad_low = p.pad_low.empty() ? none : p.pad_low;
  spec.pad_high = p.pad_high.empty() ? spec.pad_low : p.pad_high;
  Shape y{p.x[0], p.x[1]};
  double terms = 1;
  for (std::size_t i = 0; i < p.window.size(); ++i) {
    y.push_back((p.x[i + 2] + spec.pad_low[i] + spec.pad_high[i] - p.window[i]) / p.stride[i] + 1);
    terms *= static_cast<double>(p.window[i]);
  }
  spec.y = {DType::f32, y, {}};
  Case made{.name = "pool_" + name, .spec = spec, .roles = {Role::feature, Role::input_gradient}, .terms = terms};
  if (kind == PoolSpec::Kind::max) made.fills["x"] = distinct();
  made.in_formats = p.x.rank() == 4;
  return made;
}

// Like a ceil-mode pool with padding: averages do not count `added` of the end padding.
Case uncounted(const std::string& name, const Pooling& p, const List& added) {
  Case made = pool(name, PoolSpec::Kind::average, true, p);
  std::get<PoolSpec>(made.spec).uncounted = added;
  return made;
}

Case lrn(const std::string& name, Shape x, bool within, std::int64_t size) {
  LrnSpec spec{.within_channel = within, .x = {DType::f32, x, {}}, .y = {DType::f32, x, {}}, .size = size};
  spec.alpha = 0.3;
  spec.beta = 0.75;
  spec.k = 1;
  return {.name = "lrn_" + name,
          .spec = spec,
          .roles = {Role::feature, Role::input_gradient},
          .terms = static_cast<double>(size * size) * 4, // powers lose slightly more than sums
          .in_formats = true};
}

} // namespace

std::vector<Case> window_cases() {
  const Pooling shapes[] = {
      {{2, 3, 8, 8}, {2, 2}, {2, 2}, {}, {}},                 // even
      {{2, 9, 7, 9}, {3, 2}, {2, 1}, {1, 0}, {}},             // odd
      {{2, 16, 7, 7}, {3, 3}, {2, 2}, {0, 0}, {1, 1}},        // ceil mode: more padding above
      {{3, 5, 6, 4}, {6, 4}, {1, 1}, {}, {}},                 // global
      {{2, 4, 13}, {3}, {2}, {1}, {}},                        // a line
      {{1, 3, 4, 5, 6}, {2, 2, 3}, {2, 1, 2}, {0, 1, 0}, {}}, // a volume
      {{1, 8, 5, 5}, {1, 1}, {2, 2}, {}, {}},                 // single elements
  };
  const char* names[] = {"even", "odd", "ceil", "global", "line", "volume", "single"};
  std::vector<Case> cases;
  for (std::size_t i = 0; i < std::size(shapes); ++i) {
    cases.push_back(pool(concat("max_", names[i]), PoolSpec::Kind::max, false, shapes[i]));
    cases.push_back(pool(concat("average_", names[i]), PoolSpec::Kind::average, false, shapes[i]));
    cases.push_back(pool(concat("average_all_", names[i]), PoolSpec::Kind::average, true, shapes[i]));
  }
  cases.push_back(uncounted("average_uncounted", {{2, 16, 8, 7}, {3, 3}, {2, 2}, {1, 1}, {2, 1}}, {1, 0}));
  cases.push_back(uncounted("average_uncounted_odd", {{2, 5, 6, 9}, {3, 4}, {2, 3}, {0, 1}, {1, 3}}, {1, 2}));
  cases.push_back(uncounted("average_uncounted_alone", {{2, 9, 6, 6}, {3, 3}, {2, 2}, {0, 0}, {1, 1}}, {1, 1}));
  cases.push_back(uncounted("average_uncounted_line", {{2, 4, 12}, {3}, {2}, {1}, {2}}, {1}));
  Case inference = pool("max_inference", PoolSpec::Kind::max, false, shapes[0]);
  std::get<PoolSpec>(inference.spec).training = false;
  inference.roles = {Role::feature};
  cases.push_back(inference);
  cases.push_back(lrn("across", {2, 16, 4, 4}, false, 5));
  cases.push_back(lrn("across_few", {2, 3, 3, 5}, false, 5));
  cases.push_back(lrn("across_three", {3, 9, 2, 2}, false, 3));
  cases.push_back(lrn("across_three_of_many", {2, 24, 3, 3}, false, 3));
  cases.push_back(lrn("across_four", {2, 16, 3, 3}, false, 4));
  cases.push_back(lrn("across_many", {2, 24, 3, 3}, false, 5));
  cases.push_back(lrn("within", {2, 3, 7, 6}, true, 3));
  cases.push_back(lrn("within_even", {2, 3, 5, 6}, true, 2));
  cases.push_back(lrn("within_large", {1, 4, 5, 5}, true, 5));
  return cases;
}

} // namespace dlhost::conform
