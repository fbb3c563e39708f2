// Updaters: the rule is well formed, means the same on every device, and does not depend on how params are cut.
#include <algorithm>
#include <cmath>

#include <dlhost/updater.h>

#include "device/lab.h"
#include "device/tests.h"
#include "kinds/kinds.h"

namespace dlhost::conform {

namespace {

constexpr std::int64_t count = 37;
constexpr int steps = 5;

void rule_is_well_formed(const Context& context, const std::string& name) {
  const auto updater = usable<Updater>(context, name);
  const auto rule = updater->rule(), again = updater->rule();
  EXPECT_LE(rule.apply.input_count(), 2 + rule.history.size());
  EXPECT_EQ(rule.apply.results().size(), 1 + rule.history.size()) << "the value, then each history slot";
  EXPECT_LE(rule.apply.scalar_count(), Updater::first_own + rule.own_scalars);
  EXPECT_LE(rule.partials.scalar_count(), Updater::first_own + rule.own_scalars);
  EXPECT_EQ(rule.apply, again.apply);
  EXPECT_EQ(rule.partials, again.partials);
  EXPECT_FALSE(rule.apply.draws()) << "a resumed run would draw others";
  EXPECT_TRUE(rule.apply.reads(1)) << "the gradient is not used";
  for (std::size_t i = 0; i < rule.history.size(); ++i) {
    EXPECT_FALSE(rule.history[i].name.empty());
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(rule.history[i].name, rule.history[k].name);
  }
}

void scalars_are_a_function(const Context& context, const std::string& name) {
  const auto updater = usable<Updater>(context, name);
  const auto rule = updater->rule();
  const std::vector<double> sums(rule.partials.results().size(), 0.5);
  std::vector<float> first(rule.own_scalars, 1), second(rule.own_scalars, 2);
  updater->scalars({.update = 7, .rate = 0.1}, sums, first);
  std::vector<float> other(rule.own_scalars);
  updater->scalars({.update = 100, .rate = 0.01}, sums, other);
  updater->scalars({.update = 7, .rate = 0.1}, sums, second);
  EXPECT_EQ(first, second) << "every own scalar is written, and depends on what is given alone";
  for (const float scalar : first) EXPECT_TRUE(std::isfinite(scalar));
}

// Value and history after some steps, with the param cut into pieces of these lengths. The gradients are divided by
// `gradient_scale`, which the rule has to undo.
std::vector<Values> updated(const Context& context, Device& device, DType type, const Updater& updater,
                            const std::vector<std::int64_t>& pieces, double gradient_scale = 1) {
  Lab lab(device);
  const auto rule = updater.rule();
  std::vector<Values> state{uniform(context.seed, "value", count)};
  for (const auto& slot : rule.history) state.emplace_back(static_cast<std::size_t>(count), double{slot.initial});
  for (auto& value : state[0]) value -= 0.5;
  for (int step = 0; step < steps; ++step) {
    Values gradient = uniform(context.seed, concat("gradient", step), count);
    for (auto& value : gradient) value = (value - 0.5) * 2;
    gradient = rounded(gradient, DType::f32);
    for (auto& value : gradient) value /= gradient_scale;
    std::vector<float> scalars(Updater::first_own + rule.own_scalars, 1.0F);
    scalars[Updater::rate] = 0.05F;
    scalars[Updater::gradient_scale] = static_cast<float>(gradient_scale);
    const std::span<float> own = std::span(scalars).subspan(Updater::first_own);
    const Updater::When when{.update = static_cast<std::uint64_t>(step + 1), .rate = 0.05};
    updater.scalars(when, {}, own);
    std::vector<double> sums(rule.partials.results().size(), 0.0);
    const auto run = [&](const Expression& expression, bool partial) {
      std::vector<Values> made(partial ? sums.size() : state.size());
      for (std::int64_t from = 0, piece = 0; from < count; from += pieces[static_cast<std::size_t>(piece++)]) {
        const std::int64_t length = pieces[static_cast<std::size_t>(piece)];
        const TensorDesc flat{type, {length}, {}}, one{type, {}, {}};
        std::vector<Held> in, out;
        std::vector<const void*> in_at;
        std::vector<void*> out_at;
        const auto take = [&](const Values& all) {
          in.push_back(lab.put(flat, Values(all.begin() + from, all.begin() + from + length)));
          in_at.push_back(in.back().memory.data());
        };
        take(state[0]);
        take(gradient);
        for (std::size_t i = 1; i < state.size(); ++i) take(state[i]);
        for (std::size_t i = 0; i < made.size(); ++i)
          out_at.push_back(out.emplace_back(lab.blank(partial ? one : flat)).memory.data());
        MapSpec spec{.expression = expression};
        spec.in.assign(in.size(), flat);
        spec.out.assign(out.size(), partial ? one : flat);
        const auto op = need(device.prepare(spec));
        need(lab.run(*op, in_at, out_at, {.scalars = scalars}));
        for (std::size_t i = 0; i < out.size(); ++i) {
          const Values got = lab.get(out[i]);
          made[i].insert(made[i].end(), got.begin(), got.end());
        }
      }
      return made;
    };
    if (!sums.empty()) {
      const auto partials = run(rule.partials, true);
      for (std::size_t i = 0; i < sums.size(); ++i)
        for (const double part : partials[i]) sums[i] += part;
      updater.scalars(when, sums, own);
    }
    state = run(rule.apply, false);
  }
  return state;
}

void cuts_change_nothing(const Context& context, const std::string& name) {
  const auto updater = usable<Updater>(context, name);
  const auto device = context.chosen_device();
  const auto whole = updated(context, *device, DType::f32, *updater, {count});
  const auto pieces = updated(context, *device, DType::f32, *updater, {5, 1, 16, 15});
  for (std::size_t i = 0; i < whole.size(); ++i) expect_near(pieces[i], whole[i], 1e-5, concat("result ", i));
}

// Clipping and loss scaling give the rule a gradient and the factor on it, in the partials as well.
void obeys_the_gradient_scale(const Context& context, const std::string& name) {
  const auto updater = usable<Updater>(context, name);
  const auto device = context.chosen_device();
  const auto wanted = updated(context, *device, DType::f32, *updater, {count});
  for (const double scale : {0.25, 16.0}) { // powers of two, which round nothing
    SCOPED_TRACE(concat("scale ", scale));
    const auto got = updated(context, *device, DType::f32, *updater, {count}, scale);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      expect_near(got[i], wanted[i], 1e-5 * std::max(1.0, largest(wanted[i])), concat("result ", i));
  }
}

void agrees_with_f64(const Context& context, const std::string& name) {
  const auto updater = usable<Updater>(context, name);
  const auto device = context.chosen_device(), oracle = context.oracle();
  const auto got = updated(context, *device, DType::f32, *updater, {count});
  const auto wanted = updated(context, *oracle, DType::f64, *updater, {count});
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (const double value : wanted[i]) ASSERT_TRUE(std::isfinite(value));
    expect_near(got[i], wanted[i], 1e-4 * std::max(1e-2, largest(wanted[i])), concat("result ", i));
  }
}

} // namespace

void register_updater_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::updater, name, "rule_is_well_formed", rule_is_well_formed);
  add_product_check(context, Kind::updater, name, "scalars_are_a_function", scalars_are_a_function);
  add_product_check(context, Kind::updater, name, "cuts_change_nothing", cuts_change_nothing);
  add_product_check(context, Kind::updater, name, "obeys_the_gradient_scale", obeys_the_gradient_scale);
  add_product_check(context, Kind::updater, name, "agrees_with_f64", agrees_with_f64);
}

} // namespace dlhost::conform
