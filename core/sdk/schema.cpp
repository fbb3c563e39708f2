#include <dlhost/schema.h>

#include <algorithm>
#include <cmath>

#include <dlhost/nearest.h>

namespace dlhost {

SchemaSource::~SchemaSource() = default;

std::string SchemaSource::why_not(Kind kind, std::string_view name) {
  return concat("unknown ", name_of(kind), " '", name, "'; ", suggestion(name, names(kind)));
}

const Value* Table::find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (name == key) return &value;
  return nullptr;
}

std::string_view name_of(OptionType type) {
  switch (type) {
  case OptionType::boolean: return "boolean";
  case OptionType::integer: return "integer";
  case OptionType::number: return "number";
  case OptionType::text: return "text";
  case OptionType::integers: return "list of integers";
  case OptionType::numbers: return "list of numbers";
  case OptionType::texts: return "list of texts";
  case OptionType::part: return "part";
  case OptionType::parts: return "list of parts";
  case OptionType::table: return "table";
  }
  return "unknown";
}

const Option* Schema::find(std::string_view name) const {
  for (const auto& option : options_)
    if (option.name == name) return &option;
  return nullptr;
}

void Schema::add(Option option) {
  // Lists of integers are sizes: products of a few must not overflow.
  constexpr double largest_size = std::numeric_limits<std::int32_t>::max();
  if (option.type == OptionType::integers) option.bounds.highest = std::min(option.bounds.highest, largest_size);
  options_.push_back(std::move(option));
}

namespace {

// The type of a list option's elements.
OptionType element_of(OptionType type) {
  switch (type) {
  case OptionType::integers: return OptionType::integer;
  case OptionType::numbers: return OptionType::number;
  case OptionType::texts: return OptionType::text;
  case OptionType::parts: return OptionType::part;
  default: return type;
  }
}

bool is_list(OptionType type) { return element_of(type) != type; }

std::string_view with_article(OptionType type) {
  switch (type) {
  case OptionType::boolean: return "true or false";
  case OptionType::integer: return "an integer";
  case OptionType::number: return "a number";
  case OptionType::text: return "a text in quotes";
  case OptionType::table: return "a table";
  default: return name_of(type);
  }
}

std::string kind_with_article(Kind kind) {
  const auto word = name_of(kind);
  return concat(std::string_view("aeiou").find(word[0]) == std::string_view::npos ? "a " : "an ", word);
}

std::string shown(const Value& value) {
  if (std::holds_alternative<Table>(value.data)) return "a table";
  if (std::holds_alternative<List>(value.data)) return "a list";
  if (std::holds_alternative<std::monostate>(value.data)) return "nothing";
  return detail::written(value);
}

std::string allowed_range(const Bounds& bounds) {
  const bool low = std::isfinite(bounds.lowest), high = std::isfinite(bounds.highest);
  // Whole limits read better without ".0".
  const auto lowest = concat(bounds.open_low ? "above " : "at least ", bounds.lowest);
  const auto highest = concat(bounds.open_high ? "below " : "at most ", bounds.highest);
  if (low && high) return concat(lowest, " and ", highest);
  return low ? lowest : highest;
}

bool inside(const Bounds& bounds, double number) {
  const bool low = bounds.open_low ? number > bounds.lowest : number >= bounds.lowest;
  const bool high = bounds.open_high ? number < bounds.highest : number <= bounds.highest;
  return low && high;
}

// Checks the values of one table and collects the problems.
class Check {
 public:
  explicit Check(SchemaSource* parts) : parts_(parts) {}

  // The value in the form that Option::store reads; none: a problem was found.
  std::optional<Value> option(const Option& option, const Value& value) {
    const std::size_t before = problems.size();
    Value right = value;
    if (!is_list(option.type)) {
      element(option, option.type, option.name, right);
    } else {
      // A single value stands for a list of one: kernel = 3.
      if (!std::holds_alternative<List>(right.data)) right = Value{List{std::move(right)}, value.where};
      auto& list = std::get<List>(right.data);
      for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string key =
            std::holds_alternative<List>(value.data) ? concat(option.name, "[", i, "]") : option.name;
        element(option, element_of(option.type), key, list[i]);
      }
    }
    if (problems.size() > before) return std::nullopt;
    return right;
  }

  void problem(const Location& where, std::string key, std::string message) {
    problems.push_back({where, std::move(key), std::move(message)});
  }

  std::vector<Problem> problems;

 private:
  void element(const Option& option, OptionType type, const std::string& key, Value& value) {
    switch (type) {
    case OptionType::boolean:
      if (!std::holds_alternative<bool>(value.data)) wrong_type(type, key, value);
      return;
    case OptionType::integer:
      if (const auto* number = std::get_if<std::int64_t>(&value.data))
        range(option, key, value, static_cast<double>(*number));
      else
        wrong_type(type, key, value);
      return;
    case OptionType::number: this->number(option, key, value); return;
    case OptionType::text: text(option, key, value); return;
    case OptionType::table:
      if (!std::holds_alternative<Table>(value.data)) wrong_type(type, key, value);
      return;
    default: part(option, key, value); return;
    }
  }

  void wrong_type(OptionType wanted, const std::string& key, const Value& value) {
    problem(value.where, key, concat("must be ", with_article(wanted), ", but is ", shown(value)));
  }

  void range(const Option& option, const std::string& key, const Value& value, double number) {
    if (!inside(option.bounds, number))
      problem(value.where, key, concat("must be ", allowed_range(option.bounds), ", but is ", shown(value)));
  }

  void number(const Option& option, const std::string& key, Value& value) {
    const auto* whole = std::get_if<std::int64_t>(&value.data);
    const auto* given = std::get_if<double>(&value.data);
    if ((!whole && !given) || (given && std::isnan(*given))) return wrong_type(OptionType::number, key, value);
    const double number = whole ? static_cast<double>(*whole) : *given;
    range(option, key, value, number);
    value.data = number; // 1 means 1.0
  }

  void text(const Option& option, const std::string& key, const Value& value) {
    const auto* word = std::get_if<std::string>(&value.data);
    if (!word)
      wrong_type(OptionType::text, key, value);
    else if (!option.choices.empty() && std::ranges::find(option.choices, *word) == option.choices.end())
      problem(value.where, key, concat("'", *word, "' is not allowed; ", suggestion(*word, option.choices)));
  }

  // Turns the short forms into a table with a type, then checks the table against that type's schema.
  void part(const Option& option, const std::string& key, Value& value) {
    const std::string type_key = std::holds_alternative<Table>(value.data) ? key + ".type" : key;
    widen(option, value);
    auto* table = std::get_if<Table>(&value.data);
    const Value* type = table ? table->find("type") : nullptr;
    const auto* name = type ? std::get_if<std::string>(&type->data) : nullptr;
    const std::string what = kind_with_article(option.part);
    if (!table)
      return problem(value.where, key,
                     concat("must be the name of ", what, " or a table { type = \"...\" }, but is ", shown(value)));
    if (!type) return problem(value.where, key, concat("needs a type: the name of ", what, known_names(option.part)));
    if (!name) return problem(type->where, type_key, concat("must be the name of ", what, ", but is ", shown(*type)));
    if (!parts_) return;
    const Schema* schema = parts_->find(option.part, *name);
    if (!schema) return problem(type->where, type_key, parts_->why_not(option.part, *name));
    static constexpr std::string_view own[] = {"type"};
    for (auto& inner : schema->parse(*table, nullptr, parts_, own))
      problem(inner.where, concat(key, ".", inner.key), std::move(inner.message));
  }

  static void widen(const Option& option, Value& value) {
    if (std::holds_alternative<Table>(value.data) || std::holds_alternative<List>(value.data)) return;
    Table table;
    table.where = value.where;
    if (std::holds_alternative<std::string>(value.data)) {
      table.entries.emplace_back("type", value);
    } else if (const auto dot = option.bare.find('.'); dot != std::string::npos) {
      table.entries.emplace_back("type", Value{option.bare.substr(0, dot), value.where});
      table.entries.emplace_back(option.bare.substr(dot + 1), value);
    } else {
      return;
    }
    value.data = std::move(table);
  }

  std::string known_names(Kind kind) const {
    if (!parts_) return {};
    return concat(" (", suggestion({}, parts_->names(kind)), ")");
  }

  SchemaSource* parts_;
};

} // namespace

std::vector<Problem> Schema::parse(const Table& table, void* options, SchemaSource* parts,
                                   std::span<const std::string_view> also) const {
  Check check(parts);
  std::vector<std::string> meant; // known keys that unknown keys are nearest to
  for (const auto& [key, value] : table.entries) {
    if (std::ranges::find(also, key) != also.end()) continue;
    if (const Option* option = find(key)) {
      const auto right = check.option(*option, value);
      if (right && options) option->store(options, *right);
      continue;
    }
    std::vector<std::string> known(also.begin(), also.end());
    for (const auto& option : options_) known.push_back(option.name);
    check.problem(value.where, key, concat("unknown option; ", suggestion(key, known)));
    meant.push_back(nearest(key, known));
  }
  for (const auto& option : options_)
    if (option.required && !table.find(option.name) && std::ranges::find(meant, option.name) == meant.end())
      check.problem(table.where, option.name, concat("is required: ", option.doc));
  return std::move(check.problems);
}

} // namespace dlhost
