// Matrix products and convolutions.
#include "device/case.h"

#include "device/neurons.h"

namespace dlhost::conform {

namespace {

const std::vector<Role> all_roles{Role::feature, Role::input_gradient, Role::param_gradient};

Case gemm(const std::string& name, Shape x, std::int64_t units, bool bias) {
  GemmSpec spec{.x = f32(x), .w = f32(x.with(0, units)), .y = f32({x[0], units})};
  if (bias) spec.b = f32({units});
  const double terms = static_cast<double>(std::max(x.past(1), x[0]));
  return {.name = "gemm_" + name, .spec = spec, .roles = all_roles, .terms = terms, .in_blocks = true};
}

struct Geometry {
  Shape x; // [n, c, ...]
  std::int64_t out = 1;
  std::vector<std::int64_t> window, stride, pad, dilation;
  std::int64_t groups = 1;
  bool bias = true, transposed = false;
};

Case conv(const std::string& name, const Geometry& g) {
  const std::size_t axes = g.x.rank() - 2;
  ConvSpec spec{.x = f32(g.x), .groups = g.groups, .transposed = g.transposed};
  const auto number = [&](const std::vector<std::int64_t>& list, std::size_t i, std::int64_t otherwise) {
    return list.empty() ? otherwise : list[i];
  };
  Shape y{g.x[0], g.out}, w{g.out, g.x[1] / g.groups};
  if (g.transposed) w = {g.x[1], g.out / g.groups};
  for (std::size_t i = 0; i < axes; ++i) {
    spec.stride.push_back(number(g.stride, i, 1));
    spec.pad_low.push_back(number(g.pad, i, 0));
    spec.pad_high.push_back(number(g.pad, i, 0));
    spec.dilation.push_back(number(g.dilation, i, 1));
    const std::int64_t reach = spec.dilation[i] * (g.window[i] - 1) + 1;
    y.push_back(g.transposed ? (g.x[i + 2] - 1) * spec.stride[i] + reach - 2 * spec.pad_low[i]
                             : (g.x[i + 2] + 2 * spec.pad_low[i] - reach) / spec.stride[i] + 1);
    w.push_back(g.window[i]);
  }
  spec.w = f32(w);
  spec.y = f32(y);
  if (g.bias) spec.b = f32({g.out});
  const double terms = static_cast<double>(std::max(w.past(1) * g.x[1], g.x[0] * y.past(2)));
  return {.name = "conv_" + name, .spec = spec, .roles = all_roles, .terms = terms, .in_blocks = true};
}

template <class Spec> Case with_epilogue(Case base, const std::string& name, Epilogue epilogue) {
  base.name += "_" + name;
  base.roles = {Role::feature};
  std::get<Spec>(base.spec).epilogue = std::move(epilogue);
  return base;
}

// The input gradient is added to those of other readers.
Case adding(Case base) {
  base.name += "_adding";
  base.roles = {Role::feature, Role::input_gradient};
  base.adds = true;
  base.smooth = false; // with the addend it is no gradient of the feature
  return base;
}

} // namespace

std::vector<Case> linear_cases() {
  std::vector<Case> cases{
      gemm("even", {8, 16}, 32, true),
      gemm("odd", {3, 7}, 5, true),
      gemm("one", {1, 1}, 1, true),
      gemm("unbiased", {6, 33}, 10, false),
      gemm("image", {4, 3, 5, 5}, 9, true),
      gemm("long", {17, 300}, 23, true),
      gemm("column", {5, 40}, 1, true),
      gemm("one_sample", {1, 64}, 48, true),
      gemm("wide", {5, 40}, 100, true),
      conv("1x1", {.x = {2, 8, 6, 6}, .out = 16, .window = {1, 1}}),
      conv("3x3", {.x = {2, 3, 8, 8}, .out = 8, .window = {3, 3}, .pad = {1, 1}}),
      conv("odd", {.x = {3, 5, 7, 9}, .out = 7, .window = {3, 2}, .pad = {1, 0}}),
      conv("stride", {.x = {2, 16, 9, 8}, .out = 4, .window = {3, 3}, .stride = {2, 3}, .pad = {1, 1}}),
      conv("large", {.x = {2, 3, 23, 23}, .out = 6, .window = {11, 11}, .stride = {4, 4}, .pad = {2, 2}}),
      conv("dilated", {.x = {2, 4, 11, 11}, .out = 5, .window = {3, 3}, .pad = {2, 2}, .dilation = {2, 2}}),
      conv("groups", {.x = {2, 8, 6, 6}, .out = 12, .window = {3, 3}, .pad = {1, 1}, .groups = 2}),
      conv("depthwise", {.x = {2, 8, 7, 7}, .out = 8, .window = {3, 3}, .pad = {1, 1}, .groups = 8}),
      conv("unbiased", {.x = {1, 2, 5, 5}, .out = 3, .window = {2, 2}, .bias = false}),
      conv("line", {.x = {3, 4, 17}, .out = 6, .window = {5}, .stride = {2}, .pad = {2}}),
      conv("volume", {.x = {2, 3, 5, 6, 4}, .out = 4, .window = {3, 2, 3}, .pad = {1, 0, 1}}),
      conv("transposed", {.x = {2, 6, 4, 5}, .out = 4, .window = {3, 3}, .transposed = true}),
      conv("transposed_stride",
           {.x = {2, 4, 5, 4}, .out = 3, .window = {4, 4}, .stride = {2, 2}, .pad = {1, 1}, .transposed = true}),
      conv("transposed_groups",
           {.x = {2, 4, 3, 3}, .out = 6, .window = {2, 2}, .stride = {2, 2}, .groups = 2, .transposed = true}),
      conv("transposed_line", {.x = {2, 3, 6}, .out = 5, .window = {3}, .dilation = {2}, .transposed = true}),
  };
  const Case product = gemm("even", {8, 16}, 32, true),
             image = conv("3x3", {.x = {2, 8, 6, 6}, .out = 16, .window = {3, 3}, .pad = {1, 1}});
  for (const auto& [name, pointwise] : neurons()) {
    cases.push_back(with_epilogue<GemmSpec>(product, name, {.pointwise = pointwise}));
    cases.push_back(with_epilogue<ConvSpec>(image, name, {.pointwise = pointwise}));
  }
  const auto relu = neurons().at(0).second;
  cases.push_back(with_epilogue<GemmSpec>(product, "add", {.add = true}));
  cases.push_back(with_epilogue<GemmSpec>(product, "add_relu", {.add = true, .pointwise = relu}));
  cases.push_back(with_epilogue<ConvSpec>(image, "add", {.add = true}));
  cases.push_back(with_epilogue<ConvSpec>(image, "add_relu", {.add = true, .pointwise = relu}));
  for (const char* name : {"gemm_odd", "conv_1x1", "conv_3x3", "conv_stride", "conv_groups", "conv_transposed_stride"})
    cases.push_back(adding(*std::ranges::find(cases, name, &Case::name)));
  return cases;
}

} // namespace dlhost::conform
