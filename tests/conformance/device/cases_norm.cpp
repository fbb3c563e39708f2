// Norms, softmax, its loss, and rows of tables.
#include "device/case.h"

#include "device/neurons.h"

namespace dlhost::conform {

namespace {

const std::vector<Role> both_roles{Role::feature, Role::input_gradient};

Case norm(const std::string& name, Shape x, NormSpec::Kind kind, std::size_t axis) {
  NormSpec spec{.kind = kind, .x = {DType::f32, x, {}}, .y = {DType::f32, x, {}}, .axis = axis};
  Case made{.name = "norm_" + name, .spec = spec, .roles = both_roles};
  made.fills["scale"] = between_numbers(0.5, 1.5);
  for (const char* statistic : {"variance", "square"}) made.fills[statistic] = between_numbers(0.5, 2);
  made.terms = static_cast<double>(x.count()) * 4;
  made.in_blocks = true;
  return made;
}

Case batch_norm(const std::string& name, Shape x) {
  Case made = norm(name, x, NormSpec::Kind::batch, 1);
  made.in_formats = x.rank() == 4;
  return made;
}

Case group_norm(const std::string& name, Shape x, std::int64_t groups) {
  Case made = norm(name, x, NormSpec::Kind::group, 1);
  std::get<NormSpec>(made.spec).groups = groups;
  made.in_formats = x.rank() == 4;
  return made;
}

Case with(Case base, const std::string& name, Epilogue epilogue) {
  base.name += "_" + name;
  base.smooth = !epilogue.pointwise || epilogue.pointwise->known != Known::relu;
  std::get<NormSpec>(base.spec).epilogue = std::move(epilogue);
  return base;
}

Case given(Case base) {
  base.name += "_given";
  std::get<NormSpec>(base.spec).given_statistics = true;
  return base;
}

// Rows from `valid` on do not count: losses give them no gradient.
Case partly(Case base, std::int64_t valid) {
  base.name += "_partial";
  base.valid = valid;
  const std::int64_t counted = valid * std::get<NormSpec>(base.spec).x.shape.past(1);
  base.fills["dy"] = [counted](std::int64_t i, double draw) { return i < counted ? 2 * draw - 1 : 0; };
  base.in_blocks = false;
  return base;
}

Case softmax(const std::string& name, Shape x, std::size_t axis, bool logarithm) {
  SoftmaxSpec spec{.x = {DType::f32, x, {}}, .y = {DType::f32, x, {}}, .axis = axis, .logarithm = logarithm};
  return {.name = "softmax_" + name, .spec = spec, .roles = both_roles, .terms = static_cast<double>(x[axis])};
}

Case loss(const std::string& name, Shape x, const SoftmaxLossSpec& options, std::int64_t valid = -1) {
  SoftmaxLossSpec spec = options;
  spec.x = {DType::f32, x, {}};
  Case made{.name = "softmax_loss_" + name, .spec = spec, .roles = both_roles, .valid = valid};
  made.fills["labels"] = integers_below(x[1]);
  made.fills["class_weights"] = between_numbers(0.5, 2);
  made.fills["x"] = between_numbers(-4, 4);
  made.scalars = {0.25F};
  made.terms = static_cast<double>(x.count());
  made.chooses = false;
  made.in_blocks = true;
  return made;
}

Case gather(const std::string& name, Shape table, Shape indices, DType type = DType::i32) {
  Shape y = indices;
  for (std::size_t axis = 1; axis < table.rank(); ++axis) y.push_back(table[axis]);
  GatherSpec spec{.table = {DType::f32, table, {}}, .indices = {type, indices, {}}, .y = {DType::f32, y, {}}};
  Case made{.name = "gather_" + name, .spec = spec, .roles = {Role::feature, Role::param_gradient}};
  made.fills["indices"] = integers_below(table[0]);
  made.terms = static_cast<double>(indices.count());
  made.chooses = false;
  return made;
}

} // namespace

std::vector<Case> norm_cases() {
  const auto functions = neurons();
  const Pointwise relu = functions.at(0).second, tanh_of = functions.at(4).second;
  const Case image = batch_norm("batch", {4, 16, 3, 3}), odd = batch_norm("batch_odd", {5, 3, 5, 3}),
             wide = batch_norm("batch_wide", {3, 88, 9, 8}), groups = group_norm("group", {4, 32, 3, 5}, 4);
  const Shape scores{6, 10};
  return {
      image,
      odd,
      batch_norm("batch_flat", {16, 7}),
      batch_norm("batch_flat_wide", {16, 88}),
      wide,
      with(wide, "add_relu", {.add = true, .pointwise = relu}),
      batch_norm("batch_line", {4, 5, 6}),
      given(image),
      given(odd),
      partly(odd, 3),
      partly(image, 2),
      with(image, "relu", {.pointwise = relu}),
      with(odd, "relu", {.pointwise = relu}),
      with(image, "tanh", {.pointwise = tanh_of}),
      with(image, "add", {.add = true}),
      with(image, "add_relu", {.add = true, .pointwise = relu}),
      with(given(image), "add_relu", {.add = true, .pointwise = relu}),
      norm("layer", {6, 32}, NormSpec::Kind::layer, 1),
      norm("layer_odd", {3, 5, 7}, NormSpec::Kind::layer, 2),
      norm("layer_two", {3, 4, 5}, NormSpec::Kind::layer, 1),
      groups,
      group_norm("group_odd", {3, 9, 4, 3}, 3),
      group_norm("group_across", {2, 40, 3, 2}, 2), // groups with a boundary inside a block of 16 channels
      group_norm("group_one", {3, 5, 7}, 1),
      group_norm("group_each", {2, 6, 4, 4}, 6),
      group_norm("group_flat", {5, 12}, 4),
      group_norm("group_flat_wide", {3, 96}, 3),
      group_norm("group_volume", {1, 4, 3, 2, 5}, 2),
      with(groups, "relu", {.pointwise = relu}),
      with(groups, "tanh", {.pointwise = tanh_of}),
      with(groups, "add", {.add = true}),
      with(groups, "add_relu", {.add = true, .pointwise = relu}),
      norm("rms", {6, 32}, NormSpec::Kind::rms, 1),
      norm("rms_odd", {3, 5, 7}, NormSpec::Kind::rms, 2),
      norm("rms_two", {3, 4, 5}, NormSpec::Kind::rms, 1),
      norm("rms_rows", {13, 7, 67}, NormSpec::Kind::rms, 2),
      with(norm("rms", {6, 32}, NormSpec::Kind::rms, 1), "relu", {.pointwise = relu}),
      with(norm("rms", {6, 32}, NormSpec::Kind::rms, 1), "add", {.add = true}),
      softmax("classes", {7, 10}, 1, false),
      softmax("image", {2, 5, 3, 4}, 1, false),
      softmax("last", {2, 3, 9}, 2, false),
      softmax("logarithm", {7, 10}, 1, true),
      softmax("one", {3, 1}, 1, false),
      loss("plain", scores, {}),
      loss("wide", {3, 1000}, {}),
      loss("smoothed", scores, {.smoothing = 0.1}),
      loss("ignored", scores, {.ignored = 3}),
      loss("ignored_outside", scores, {.ignored = -1}),
      loss("weighted", scores, {.class_weights = true}),
      loss("partial", scores, {}, 4),
      loss("image", {2, 5, 3, 4}, {.smoothing = 0.05, .ignored = 2, .class_weights = true}),
      loss("places", {3, 37, 20}, {.smoothing = 0.1, .class_weights = true}),
      loss("places_few", {2, 40, 3}, {.ignored = 2}),
      loss("places_of_two_classes", {3, 2, 7}, {}),
      loss("places_wide", {2, 5, 15, 11}, {.smoothing = 0.05, .ignored = 2, .class_weights = true}),
      loss("places_far_apart", {1, 3000, 49}, {.smoothing = 0.1}),
      loss("places_partial", {5, 11, 6}, {}, 3),
      gather("words", {11, 6}, {3, 4}),
      gather("numbers", {5}, {7}),
      gather("matrices", {4, 2, 3}, {6}),
  };
}

} // namespace dlhost::conform
