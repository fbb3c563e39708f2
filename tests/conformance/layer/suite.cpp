// The layer suite: compares each case with the same layer in f64, compares that with numeric differences, and checks
// all promises of the layer's setup.
#include <cmath>

#include <gtest/gtest.h>

#include <dlhost/sink.h>
#include <dlhost/source.h>

#include "../../computes.h"
#include "device/tests.h"
#include "kinds/kinds.h"
#include "kinds/samples.h"
#include "layer/bench.h"
#include "layer/tests.h"

namespace dlhost::conform {

namespace {

struct Results {
  Tensors outputs, gradients;
};

Results run(LayerBench& bench, const Tensors& given, const LayerRun::Manner& manner = {}, bool poison = false) {
  LayerRun run(bench, given, manner);
  run.feature();
  Results results{run.outputs(), {}};
  if (!bench.training() || !bench.setup().has_gradient) {
    run.check_memory();
    return results;
  }
  if (poison) run.poison();
  run.gradient(Wanted::both);
  results.gradients = run.gradients();
  run.check_memory();
  return results;
}

bool is_narrow(DType compute) { return compute == DType::bf16 || compute == DType::f16; }

double bound(const LayerCase& of, DType compute, const Values& wanted) {
  const double sums = 32 * epsilon_of(DType::f32) * std::sqrt(of.terms);
  const double stores = is_narrow(compute) ? 8 * epsilon_of(compute) : 0;
  return (sums + stores) * std::max(largest(wanted), 1e-2);
}

// The number whose gradient the layer computes.
double objective(const LayerCase& of, LayerBench& bench, const Tensors& given) {
  LayerRun run(bench, given, {});
  run.feature();
  const Tensors outputs = run.outputs();
  if (bench.setup().is_loss) return outputs.at("out0").at(0) * of.factor / static_cast<double>(of.batch());
  double sum = 0;
  for (const auto& [name, values] : outputs)
    if (const auto slope = given.find("d" + name); slope != given.end())
      for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * slope->second[i];
  return sum;
}

class OneCase {
 public:
  OneCase(const Context& context, const LayerCase& of)
      : context_(context), case_(of), device_(context.chosen_device()), oracle_(context.oracle()),
        wide_(context, *oracle_, of, {.compute = DType::f64, .device_type = "ref"}),
        given_(filled(of, wide_, context.seed)) {}

  const Context& context_;
  const LayerCase& case_;
  std::unique_ptr<Device> device_, oracle_;
  LayerBench wide_;
  Tensors given_;

  LayerBench bench(const Ask& ask = {}) { return LayerBench(context_, *device_, case_, ask); }
};

void setup_is_repeatable(const Context& context, const LayerCase& of) {
  OneCase one(context, of);
  auto first = one.bench(), second = one.bench();
  ASSERT_EQ(first.setup().outputs.size(), second.setup().outputs.size());
  for (std::size_t i = 0; i < first.setup().outputs.size(); ++i) {
    EXPECT_EQ(first.setup().outputs[i].desc, second.setup().outputs[i].desc);
    EXPECT_TRUE(first.setup().outputs[i].desc.format.is_plain()) << "forms are found later";
    EXPECT_FALSE(first.setup().outputs[i].name.empty());
  }
  ASSERT_FALSE(first.setup().outputs.empty());
  ASSERT_EQ(first.setup().params.size(), second.setup().params.size());
  for (const auto& param : first.setup().params) {
    EXPECT_FALSE(param.name.empty());
    EXPECT_FALSE(param.init.type.empty()) << param.name << " needs an initialiser";
  }
  for (const auto& metric : first.setup().metrics) EXPECT_LT(metric.output, first.setup().outputs.size());
  EXPECT_TRUE(!first.setup().is_loss || first.setup().outputs[0].desc.shape == Shape{2});
}

void gradients_are_differences(const Context& context, const LayerCase& of) {
  OneCase one(context, of);
  if (!of.smooth || !one.wide_.setup().has_gradient) GTEST_SKIP() << "has no gradient that differences could find";
  const Results results = run(one.wide_, one.given_);
  // Losses compute in f32 on any device: the difference quotient amplifies the last bit of their sums.
  const double last_bit = one.wide_.setup().is_loss ? epsilon_of(DType::f32) : 0;
  const double noise = last_bit * std::abs(objective(of, one.wide_, one.given_));
  for (const auto& [name, gradient] : results.gradients) {
    const std::string operand = name.substr(1);
    for (std::size_t i = 0; i < gradient.size(); i += gradient.size() / 11 + 1) {
      const auto at = [&](double shift) {
        Tensors moved = one.given_;
        moved.at(operand).at(i) += shift;
        return objective(of, one.wide_, moved);
      };
      const double h = 0x1p-9;
      const double slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
      const double bound = 2e-3 * std::max(largest(gradient), 1e-2) + 18 / (12 * h) * noise;
      EXPECT_NEAR(gradient[i], slope, bound) << name << "[" << i << "]";
    }
  }
}

void expect_equal(const LayerCase& of, DType compute, const Tensors& got, const Tensors& wanted) {
  for (const auto& [name, values] : wanted) {
    ASSERT_TRUE(got.contains(name)) << name;
    expect_near(got.at(name), values, bound(of, compute, values), name);
  }
}

void agrees_with_f64(OneCase& one, DType compute) {
  const LayerCase& of = one.case_;
  const Results wanted = run(one.wide_, one.given_);
  auto bench = one.bench({.compute = compute});
  const Results got = run(bench, one.given_);
  if (is_narrow(compute) && !of.smooth) return; // it is not a function of the rounded values
  expect_equal(of, compute, got.outputs, wanted.outputs);
  expect_equal(of, compute, got.gradients, wanted.gradients);
  const Results again = run(bench, one.given_);
  EXPECT_EQ(got.outputs, again.outputs) << "another run makes other bits";
  EXPECT_EQ(got.gradients, again.gradients) << "another run makes other bits";
}

template <void (*check)(OneCase&, DType), DType compute> void in(const Context& context, const LayerCase& of) {
  OneCase one(context, of);
  if (is_narrow(compute) && !test::computes(*one.device_, compute))
    GTEST_SKIP() << "the device does not compute in " << name_of(compute) << " here";
  check(one, compute);
}

// The producers leave inputs in formats of their own.
void takes_any_format(const Context& context, const LayerCase& of) {
  OneCase one(context, of);
  const Results wanted = run(one.wide_, one.given_);
  for (const Format format : formats_of(*one.device_, of.inputs[0].shape)) {
    auto bench = one.bench({.input_format = format});
    const Results got = run(bench, one.given_);
    expect_equal(of, DType::f32, got.outputs, wanted.outputs);
    expect_equal(of, DType::f32, got.gradients, wanted.gradients);
  }
}

void reads_what_it_says(const Context& context, const LayerCase& of) {
  OneCase one(context, of);
  auto bench = one.bench();
  EXPECT_EQ(run(bench, one.given_, {}, true).gradients, run(bench, one.given_).gradients);
}

void works_in_place(const Context& context, const LayerCase& of) {
  OneCase one(context, of);
  auto bench = one.bench();
  if (!bench.setup().in_place || bench.setup().is_view) GTEST_SKIP() << "does not say that it can";
  ASSERT_EQ(bench.read_forms().at(0), bench.given_forms().at(0)) << "what lies in place has one form";
  const Results apart = run(bench, one.given_), together = run(bench, one.given_, {.in_place = true});
  EXPECT_EQ(apart.outputs, together.outputs);
  EXPECT_EQ(apart.gradients, together.gradients);
}

void makes_what_is_wanted(const Context& context, const LayerCase& of) {
  OneCase one(context, of);
  auto bench = one.bench();
  if (!bench.setup().has_gradient) GTEST_SKIP() << "has no gradient";
  const Results wanted = run(bench, one.given_);
  LayerRun in_turn(bench, one.given_, {});
  in_turn.feature();
  in_turn.gradient(Wanted::inputs);
  in_turn.gradient(Wanted::params);
  EXPECT_EQ(in_turn.gradients(), wanted.gradients) << "inputs first, params later";
  in_turn.check_memory();

  auto frozen = one.bench({.wants_params = false});
  Tensors inputs_only = wanted.gradients;
  for (const auto& param : bench.setup().params) inputs_only.erase("d" + param.name);
  EXPECT_EQ(run(frozen, one.given_).gradients, inputs_only) << "params frozen";

  for (std::size_t i = 0; i < bench.setup().params.size(); ++i) {
    SCOPED_TRACE(concat("param ", i, " frozen"));
    auto without = one.bench({.frozen = i});
    Tensors others = wanted.gradients;
    others.erase("d" + bench.setup().params[i].name);
    expect_equal(of, DType::f32, run(without, one.given_).gradients, others);
  }

  for (std::size_t i = 0; i < of.inputs.size(); ++i) {
    Ask ask;
    for (std::size_t k = 0; k < of.inputs.size(); ++k) ask.wants_inputs.push_back(k != i);
    auto without = one.bench(ask);
    Tensors others = wanted.gradients;
    others.erase(concat("din", i));
    EXPECT_EQ(run(without, one.given_).gradients, others) << "without the gradient of input " << i;
  }
}

void adds_where_it_says(OneCase& one, DType compute) {
  const LayerCase& of = one.case_;
  auto bench = one.bench({.compute = compute});
  if (!bench.setup().accumulates) GTEST_SKIP() << "does not say that it can";
  auto adding = one.bench({.compute = compute, .adds = true});
  const Results wanted = run(bench, one.given_);
  for (const auto& [name, gradient] : wanted.gradients) {
    if (!name.starts_with("din")) continue;
    const auto input = static_cast<std::size_t>(std::stoul(name.substr(3)));
    LayerRun sum(adding, one.given_, {});
    sum.feature();
    const Values before = rounded(uniform(1, name, static_cast<std::int64_t>(gradient.size())), compute);
    sum.preset_input_gradient(input, before);
    sum.gradient(Wanted::both);
    Values total = gradient;
    for (std::size_t i = 0; adding.adds(input) && i < total.size(); ++i) total[i] += before[i];
    expect_near(sum.gradients().at(name), total, bound(of, compute, total), name);
  }
}

// After prepare, a frame holds all data of its batch.
void frames_are_apart(const Context& context, const LayerCase& of) {
  OneCase one(context, of);
  auto bench = one.bench();
  const Tensors other = filled(of, bench, context.seed + 1);
  const Results first = run(bench, one.given_), second = run(bench, other);
  LayerRun a(bench, one.given_, {}), b(bench, other, {});
  a.feature();
  b.feature();
  EXPECT_EQ(a.outputs(), first.outputs);
  EXPECT_EQ(b.outputs(), second.outputs);
  if (!bench.setup().has_gradient) return;
  a.gradient(Wanted::both);
  b.gradient(Wanted::both);
  EXPECT_EQ(a.gradients(), first.gradients);
  EXPECT_EQ(b.gradients(), second.gradients);
}

void asks_for_no_memory(const Context& context, const LayerCase& of) {
  OneCase one(context, of);
  const auto ref = context.make<Device>("ref", {}); // libraries of other devices may allocate
  LayerBench bench(context, *ref, of, {.device_type = "ref"});
  for (int turn = 0; turn < 2; ++turn) {
    LayerRun run(bench, one.given_, {});
    run.feature();
    run.gradient(Wanted::both);
    EXPECT_TRUE(turn == 0 || run.allocations() == 0) << run.allocations() << " allocations in a step";
  }
}

void works_in_evaluation(const Context& context, const LayerCase& of) {
  if (!of.infers) GTEST_SKIP() << "the case says that it is for training only";
  OneCase one(context, of);
  auto bench = one.bench({.phase = Phase::test});
  LayerBench wide(context, *one.oracle_, of, {.compute = DType::f64, .phase = Phase::test, .device_type = "ref"});
  expect_equal(of, DType::f32, run(bench, one.given_).outputs, run(wide, one.given_).outputs);
}

// Rows that do not count do not change the results of those that do.
void counts_valid_rows_only(const Context& context, const LayerCase& of) {
  OneCase one(context, of);
  auto bench = one.bench();
  const std::int64_t valid = of.batch() - 1;
  if (valid == 0 || !of.rows) GTEST_SKIP() << "its rows are not apart";
  Tensors garbage = one.given_;
  for (auto& [name, values] : garbage) {
    if (!name.starts_with("in") && !name.starts_with("dout")) continue;
    const std::size_t row = values.size() / static_cast<std::size_t>(of.batch());
    for (std::size_t i = values.size() - row; i < values.size(); ++i)
      values[i] = name.starts_with("in") ? values[i - row] : 0;
  }
  Tensors silent = one.given_;
  for (auto& [name, values] : silent)
    if (name.starts_with("dout") && values.size() % static_cast<std::size_t>(of.batch()) == 0)
      std::fill(values.end() - static_cast<std::ptrdiff_t>(values.size() / static_cast<std::size_t>(of.batch())),
                values.end(), 0.0);
  const Results a = run(bench, silent, {.valid = valid}), b = run(bench, garbage, {.valid = valid});
  for (const auto& [name, values] : a.gradients)
    if (name.starts_with("din")) {
      const std::size_t counted =
          values.size() / static_cast<std::size_t>(of.batch()) * static_cast<std::size_t>(valid);
      EXPECT_EQ(
          Values(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(counted)),
          Values(b.gradients.at(name).begin(), b.gradients.at(name).begin() + static_cast<std::ptrdiff_t>(counted)))
          << name;
    } else {
      expect_near(b.gradients.at(name), values, bound(of, DType::f32, values), name);
    }
  EXPECT_TRUE(!bench.setup().is_loss || a.outputs.at("out0") == b.outputs.at("out0"));
}

// A loss scale multiplies gradients, which would be too small for f16, but not the loss's outputs.
void scales_its_gradient(const Context& context, const LayerCase& of) {
  OneCase one(context, of);
  auto bench = one.bench();
  if (!bench.setup().is_loss) GTEST_SKIP() << "it is no loss";
  const Results as_it_is = run(bench, one.given_, {}), scaled = run(bench, one.given_, {.loss_scale = 1024});
  EXPECT_EQ(scaled.outputs, as_it_is.outputs);
  for (const auto& [name, values] : as_it_is.gradients) {
    Values wanted = values;
    for (double& value : wanted) value *= 1024;
    expect_near(scaled.gradients.at(name), wanted, bound(of, DType::f32, wanted), name);
  }
}

// Most layers compute; sources produce samples, sinks consume them.
enum class Work { computes, brings, takes };
Work work_of(const Context& context, const std::string& name) {
  const auto made = context.registry.make(Kind::layer, name, context.options);
  if (made.ok() && dynamic_cast<Source*>(made->get())) return Work::brings;
  return made.ok() && dynamic_cast<Sink*>(made->get()) ? Work::takes : Work::computes;
}

// Default cases; none if a required option is known only to its author.
std::vector<LayerCase> guessed_cases(const Context& context, const std::string& name, Work work) {
  if (work == Work::computes) return guessed_cases(context, name);
  LayerCase guessed;
  guessed.layer = name;
  guessed.options = usable_options(context, Kind::layer, name);
  if (work == Work::takes) guessed.inputs = {{.shape = {4, 3}}};
  const auto schema = context.registry.schema(Kind::layer, name);
  if (!schema.ok() || !(*schema)->parse(guessed.options, nullptr, &context.registry).empty()) return {};
  return {guessed};
}

} // namespace

void add_layer_check(const LayerCase& of, const std::string& name, const Context& context,
                     void (*check)(const Context&, const LayerCase&)) {
  add_test(context, Kind::layer, of.layer, of.title() + "." + name, [&context, of, check] { check(context, of); });
}

void add_layer_case(const Context& context, const LayerCase& of) {
  const std::pair<const char*, void (*)(const Context&, const LayerCase&)> checks[] = {
      {"setup_is_repeatable", setup_is_repeatable},
      {"gradients_are_differences", gradients_are_differences},
      {"agrees_in_f32", in<agrees_with_f64, DType::f32>},
      {"agrees_in_bf16", in<agrees_with_f64, DType::bf16>},
      {"agrees_in_f16", in<agrees_with_f64, DType::f16>},
      {"takes_any_format", takes_any_format},
      {"reads_what_it_says", reads_what_it_says},
      {"works_in_place", works_in_place},
      {"makes_what_is_wanted", makes_what_is_wanted},
      {"adds_where_it_says", in<adds_where_it_says, DType::f32>},
      {"adds_in_bf16", in<adds_where_it_says, DType::bf16>},
      {"frames_are_apart", frames_are_apart},
      {"asks_for_no_memory", asks_for_no_memory},
      {"works_in_evaluation", works_in_evaluation},
      {"counts_valid_rows_only", counts_valid_rows_only},
      {"scales_its_gradient", scales_its_gradient},
      {"rows_are_apart", rows_are_apart},
      {"splits_make_the_whole", splits_make_the_whole},
      {"factors_make_the_gradient", factors_make_the_gradient},
  };
  for (const auto& [name, check] : checks) add_layer_check(of, name, context, check);
}

void register_layer_suite(const Context& context, const std::string& name, const std::vector<LayerCase>& cases) {
  const Work work = work_of(context, name);
  std::vector<LayerCase> own;
  std::ranges::copy_if(cases, std::back_inserter(own), [&](const LayerCase& one) { return one.layer == name; });
  if (own.empty()) own = guessed_cases(context, name, work);
  if (own.empty()) report_no_case(context, name);
  for (const auto& one : own) {
    if (work != Work::brings && one.inputs.empty())
      throw std::runtime_error(concat("the case of '", name, "' has no inputs"));
    if (work == Work::brings)
      add_source_case(context, one);
    else if (work == Work::takes)
      add_sink_case(context, one);
    else
      add_layer_case(context, one);
  }
}

void report_no_case(const Context& context, const std::string& layer) {
  add_test(context, Kind::layer, layer, "has_a_case", [layer] {
    FAIL() << "no case says how '" << layer
           << "' is used: write a [[case]] with its options and inputs into a file, and give it with --case, or put it "
              "beside the plugin as conform.toml";
  });
}

} // namespace dlhost::conform
