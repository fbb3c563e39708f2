#include "layer/case.h"

#include <cmath>
#include <stdexcept>

#include "config/compose.h"
#include "config/document.h"

namespace dlhost::conform {

namespace {

struct CaseOptions {
  std::string layer, name;
  Table options;
  bool smooth = true, rows = true, infers = true;
  double factor = 1, terms = 64;
};

Schema case_schema() {
  return SchemaOf<CaseOptions>("How a layer is to be tried.")
      .required("layer", &CaseOptions::layer, "which layer")
      .option("name", &CaseOptions::name, "what the case is called")
      .option("options", &CaseOptions::options, "the layer's options")
      .option("smooth", &CaseOptions::smooth, "numeric differences are its gradient")
      .option("rows", &CaseOptions::rows, "rows depend on their own row alone")
      .option("infers", &CaseOptions::infers, "it works in evaluation")
      .option("factor", &CaseOptions::factor, "of a loss, on its sum")
      .option("terms", &CaseOptions::terms, "that are summed for one element", at_least(1));
}

struct InputOptions {
  std::vector<std::int64_t> shape;
  std::int64_t below = 0;
  double low = -1, high = 1;
  bool distinct = false, given = false;
};

Schema input_schema() {
  return SchemaOf<InputOptions>("An input of a case.")
      .required("shape", &InputOptions::shape, at_least(1), "with the batch as axis 0")
      .option("below", &InputOptions::below, "i32: integers from 0 to below this", at_least(0))
      .option("low", &InputOptions::low, "the lowest value")
      .option("high", &InputOptions::high, "and what all are below")
      .option("distinct", &InputOptions::distinct, "no two elements near each other are equal")
      .option("given", &InputOptions::given, "nothing that could learn stands behind it");
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::runtime_error(concat(path, ": ", why));
}

template <class Options>
Options parsed(const std::string& path, const Schema& schema, const Value& value,
               std::span<const std::string_view> also = {}) {
  const auto* table = std::get_if<Table>(&value.data);
  if (!table) refuse(path, "a case and an input are tables");
  Options options;
  for (const auto& problem : schema.parse(*table, &options, nullptr, also))
    refuse(path, concat("line ", problem.where.line, ": ", problem.key, " ", problem.message));
  return options;
}

const List& list(const std::string& path, const Table& table, std::string_view key) {
  const Value* value = table.find(key);
  const auto* items = value ? std::get_if<List>(&value->data) : nullptr;
  if (!items) refuse(path, concat("line ", table.where.line, ": needs a list '", key, "'"));
  return *items;
}

InputCase input_of(const std::string& path, const Value& value) {
  const auto input = parsed<InputOptions>(path, input_schema(), value);
  return {.shape = Shape(input.shape),
          .below = input.below,
          .low = input.low,
          .high = input.high,
          .distinct = input.distinct,
          .given = input.given};
}

} // namespace

std::vector<LayerCase> read_cases(Host& host, const std::string& path) {
  auto text = host.disk().read_text(path);
  if (!text.ok()) refuse(path, text.status().message());
  config::Problems problems;
  const Table file = config::parse_document(*text, path, problems);
  if (!problems.empty()) refuse(path, problems.status().message());
  static constexpr std::string_view also[] = {"inputs"};
  std::vector<LayerCase> cases;
  for (const auto& item : list(path, file, "case")) {
    const auto one = parsed<CaseOptions>(path, case_schema(), item, also);
    LayerCase made{.layer = one.layer, .name = one.name, .options = one.options};
    made.smooth = one.smooth;
    made.rows = one.rows;
    made.infers = one.infers;
    made.factor = one.factor;
    made.terms = one.terms;
    made.folder = config::folder_of(path);
    const auto& table = std::get<Table>(item.data);
    if (table.find("inputs"))
      for (const auto& input : list(path, table, "inputs")) made.inputs.push_back(input_of(path, input));
    cases.push_back(std::move(made));
  }
  return cases;
}

std::vector<LayerCase> guessed_cases(const Context& context, const std::string& layer) {
  std::vector<LayerCase> cases;
  Table options = context.options;
  const auto schema = context.registry.schema(Kind::layer, layer);
  if (!schema.ok() || !(*schema)->parse(options, nullptr, &context.registry).empty()) return {};
  for (const Shape& shape : {Shape{6, 7}, Shape{4, 6, 5, 5}, Shape{5, 3, 9}}) {
    LayerCase guess{.layer = layer, .name = to_string(shape), .options = options};
    guess.inputs = {{.shape = shape}};
    auto made = context.registry.make(Kind::layer, layer, guess.options);
    auto* object = made.ok() ? dynamic_cast<Layer*>(made->get()) : nullptr;
    if (!object) continue;
    const Port port{"x", guess.inputs[0].desc()};
    Setup setup;
    setup.inputs = {&port, 1};
    setup.batch = shape[0];
    setup.layer = layer;
    if (object->setup(setup).ok()) cases.push_back(std::move(guess));
  }
  return cases;
}

Values values_of(const InputCase& input, std::uint64_t seed, const std::string& name) {
  Values values = uniform(seed, name, input.shape.count());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (input.below > 0)
      values[i] = std::floor(values[i] * static_cast<double>(input.below));
    else if (input.distinct)
      values[i] = static_cast<double>(static_cast<std::int64_t>(i) * 37 % 256 * 2 - 255) / 128;
    else
      values[i] = input.low + values[i] * (input.high - input.low);
  }
  return rounded(values, input.desc().dtype);
}

} // namespace dlhost::conform
