#include "tools/inspect/trial_setup.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <dlhost/layer.h>
#include <dlhost/partition.h>
#include <dlhost/source.h>
#include <nlohmann/json.hpp>

#include "env/printable.h"

namespace dlhost::tools {

using nlohmann::json;

namespace {

constexpr std::int64_t batch = 2;

Value required_value(const Option& option) {
  const double number = std::clamp(2.0, option.bounds.lowest, option.bounds.highest);
  const auto whole = static_cast<std::int64_t>(std::ceil(number));
  switch (option.type) {
  case OptionType::boolean: return {true, {}};
  case OptionType::integer: return {whole, {}};
  case OptionType::number: return {number, {}};
  case OptionType::integers: return {List{Value{whole, {}}}, {}};
  case OptionType::numbers: return {List{Value{number, {}}}, {}};
  default: return {option.choices.empty() ? std::string("x") : option.choices[0], {}};
  }
}

// The required options with the smallest values.
Table least_options(const Schema& schema) {
  Table options;
  for (const auto& option : schema.options())
    if (option.required) options.entries.emplace_back(option.name, required_value(option));
  return options;
}

std::vector<std::vector<Port>> trials() {
  const Port picture{"x", {DType::f32, {batch, 4, 8, 8}, {}}}, row{"x", {DType::f32, {batch, 4}, {}}};
  const Port label{"label", {DType::i32, {batch}, {}}}, value{"label", {DType::f32, {batch, 4}, {}}};
  return {{picture}, {row}, {row, label}, {row, value}, {row, row}, {picture, picture}, {label}};
}

std::string shown_name(const std::string& text) { return env::printable(text, env::longest_foreign_text); }

json shape_of(const Shape& shape) { return std::vector<std::int64_t>(shape.begin(), shape.end()); }

json described(const Setup& setup) {
  json shown = {
      {"inputs", json::array()}, {"outputs", json::array()}, {"params", json::array()}, {"metrics", json::array()}};
  for (const auto& port : setup.inputs) shown["inputs"].push_back(shape_of(port.desc.shape));
  for (const auto& port : setup.outputs)
    shown["outputs"].push_back({{"name", shown_name(port.name)}, {"shape", shape_of(port.desc.shape)}});
  for (const auto& param : setup.params)
    shown["params"].push_back({{"name", shown_name(param.name)},
                               {"shape", shape_of(param.shape)},
                               {"init", shown_name(dlhost::detail::written(param.init))}});
  for (const auto& metric : setup.metrics) shown["metrics"].push_back(shown_name(metric.name));
  return shown;
}

} // namespace

json trial_setup(const plugin::Library& library, const Factory& factory) {
  if (factory.kind != Kind::layer) return {};
  const auto schema = library.schema(factory);
  if (!schema.ok()) return {};
  const Table options = least_options(*schema);
  for (const auto& inputs : trials()) {
    const auto made = library.make(factory, options);
    auto* layer = made.ok() ? dynamic_cast<Layer*>(made->get()) : nullptr;
    if (!layer || dynamic_cast<Source*>(layer)) return {};
    Setup setup;
    setup.inputs = inputs;
    setup.batch = batch;
    setup.layer = "x";
    if (!layer->setup(setup).ok()) continue;
    json shown = described(setup);
    shown["with"] = dlhost::detail::written(options);
    return shown;
  }
  return {};
}

} // namespace dlhost::tools
