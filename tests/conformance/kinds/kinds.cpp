#include "kinds/kinds.h"

#include <algorithm>
#include <cmath>

#include "device/tests.h"

namespace dlhost::conform {

namespace {

double inside(const Bounds& bounds, double wanted) {
  const double nudge = bounds.open_low ? 1e-3 : 0;
  return std::clamp(wanted, bounds.lowest + nudge, std::max(bounds.highest, bounds.lowest + nudge));
}

Value holding(Value::Data data) {
  Value made;
  made.data = std::move(data);
  return made;
}

List two(const Value& first, const Value& second) {
  List list;
  list.push_back(first);
  list.push_back(second);
  return list;
}

Value value_for(const Option& option) {
  const double number = inside(option.bounds, 0.5);
  const auto whole = static_cast<std::int64_t>(std::ceil(inside(option.bounds, 3)));
  switch (option.type) {
  case OptionType::boolean: return holding(true);
  case OptionType::integer: return holding(whole);
  case OptionType::number: return holding(number);
  case OptionType::text: return holding(option.choices.empty() ? std::string("x") : option.choices[0]);
  case OptionType::integers: return holding(two(holding(whole), holding(whole + 2)));
  case OptionType::numbers: return holding(two(holding(number), holding(number)));
  case OptionType::texts: return holding(two(holding(std::string("x")), holding(std::string("y"))));
  default: break;
  }
  Table part;
  if (option.part == Kind::schedule) {
    part.entries.emplace_back("type", holding(std::string("fixed")));
    part.entries.emplace_back("base", holding(0.1));
  }
  return holding(std::move(part));
}

} // namespace

Table usable_options(const Context& context, Kind kind, const std::string& product) {
  Table options = context.options;
  const auto schema = context.registry.schema(kind, product);
  if (!schema.ok()) throw std::runtime_error(schema.status().message());
  for (const auto& option : (*schema)->options())
    if (option.required && !options.find(option.name)) options.entries.emplace_back(option.name, value_for(option));
  return options;
}

void add_product_check(const Context& context, Kind kind, const std::string& product, const std::string& check,
                       ProductCheck body) {
  add_test(context, kind, product, check, [&context, product, body] { body(context, product); });
}

} // namespace dlhost::conform
