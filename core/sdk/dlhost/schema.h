// Schemas: every option of every plugin is declared once, in a table that parses it, bounds it, documents it and gives
// its default. `dlhost inspect`, all errors about job files and the manual use that table.
//
//   struct Options { std::int64_t units = 0; bool bias = true; };
//   static Schema schema() {
//     return SchemaOf<Options>("Fully connected: y = x W^T + b.")
//         .required("units", &Options::units, at_least(1), "number of outputs of each sample")
//         .option("bias", &Options::bias, "add a learned bias");
//   }
//
// Default of an option: the value of its member in a fresh Options.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <dlhost/kind.h>
#include <dlhost/status.h>

namespace dlhost {

// A place in a job file. Line 0: no place (a default, or a value that a program made).
struct Location {
  std::shared_ptr<const std::string> file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

class Value;
struct TableEntry;
using List = std::vector<Value>;

// A table keeps its keys in the order of the file.
struct Table {
  std::vector<TableEntry> entries;
  Location where;
  DLHOST_API const Value* find(std::string_view key) const;
};

class Value {
 public:
  using Data = std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Table>;
  Data data;
  Location where;
};

// No std::pair: clang cannot complete a pair of a type whose own completion asks about the pair.
struct TableEntry {
  TableEntry(std::string key, Value value) : first(std::move(key)), second(std::move(value)) {}
  std::string first;
  Value second;
};

// A plugin named inside an option: rate = { type = "cosine", base = 0.1 }. The option may allow a bare string or
// number: rate = 0.1 is { type = "fixed", base = 0.1 }.
struct Part {
  std::string type;
  Table options;
};

// The allowed range of a number; for a list, of each element.
struct Bounds {
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  bool open_low = false; // lowest itself is not allowed
  bool open_high = false;
};
inline Bounds at_least(double low) { return {.lowest = low}; }
inline Bounds above(double low) { return {.lowest = low, .open_low = true}; }
inline Bounds between(double low, double high) { return {.lowest = low, .highest = high}; }
inline Bounds from_below(double low, double high) { return {.lowest = low, .highest = high, .open_high = true}; }

enum class OptionType : std::uint8_t { boolean, integer, number, text, integers, numbers, texts, part, parts, table };
DLHOST_API std::string_view name_of(OptionType);

// A fault in a table that a user wrote.
struct Problem {
  Location where;
  std::string key; // the path inside the table: "rate.base"
  std::string message;
};

struct Option {
  std::string name;
  std::string doc;
  OptionType type = OptionType::text;
  bool required = false;
  std::string default_text; // as written in a job file; empty if required
  Bounds bounds;
  std::vector<std::string> choices; // for text: the allowed words; empty: any text
  Kind part = Kind::schedule;       // for part(s): the kind that it names
  std::string bare;                 // for part(s): the type and key of a bare value: "fixed.base"
  // Writes the checked value into the Options struct.
  std::function<void(void* options, const Value&)> store;
};

// Looks up the schemas of parts, and the existing names.
class DLHOST_API SchemaSource {
 public:
  virtual ~SchemaSource();
  // Null: no such plugin is known, or it is unusable.
  virtual const class Schema* find(Kind, std::string_view name) = 0;
  virtual std::vector<std::string> names(Kind) = 0;
  // Why find() returned null: the name is unknown (with known ones and the nearest), or the plugin is faulty (with its
  // problem and the remedy).
  virtual std::string why_not(Kind, std::string_view name);
};

class DLHOST_API Schema {
 public:
  Schema() = default;
  explicit Schema(std::string doc) : doc_(std::move(doc)) {}

  const std::string& doc() const { return doc_; }
  const std::vector<Option>& options() const { return options_; }
  const Option* find(std::string_view name) const;

  // Checks a table against this schema and stores the correct values into `options` (null: only checks). Returns all
  // problems at once. `parts` resolves the schemas of parts; null: the options of parts are not checked. Keys in `also`
  // belong to the caller and are skipped.
  std::vector<Problem> parse(const Table&, void* options, SchemaSource* parts = nullptr,
                             std::span<const std::string_view> also = {}) const;

 protected:
  void add(Option);

 private:
  std::string doc_;
  std::vector<Option> options_;
};

namespace detail {
DLHOST_API std::string written(bool);
DLHOST_API std::string written(std::int64_t);
DLHOST_API std::string written(double);
DLHOST_API std::string written(const std::string&);
DLHOST_API std::string written(const Part&);
DLHOST_API std::string written(const Value&);
DLHOST_API std::string written(const Table&); // on one line, in braces
DLHOST_API std::string written_key(const std::string&);
template <class T> std::string written(const std::vector<T>& list) {
  std::string text = "[";
  for (const auto& item : list) text += (text.size() > 1 ? ", " : "") + written(item);
  return text + "]";
}

template <class M> struct OptionTraits;
template <> struct OptionTraits<bool> { static constexpr auto type = OptionType::boolean; };
template <> struct OptionTraits<std::int64_t> { static constexpr auto type = OptionType::integer; };
template <> struct OptionTraits<double> { static constexpr auto type = OptionType::number; };
template <> struct OptionTraits<std::string> { static constexpr auto type = OptionType::text; };
template <> struct OptionTraits<Part> { static constexpr auto type = OptionType::part; };
template <> struct OptionTraits<std::vector<std::int64_t>> { static constexpr auto type = OptionType::integers; };
template <> struct OptionTraits<std::vector<double>> { static constexpr auto type = OptionType::numbers; };
template <> struct OptionTraits<std::vector<std::string>> { static constexpr auto type = OptionType::texts; };
template <> struct OptionTraits<std::vector<Part>> { static constexpr auto type = OptionType::parts; };
template <> struct OptionTraits<Table> { static constexpr auto type = OptionType::table; };

// Reads a value. Requires: parse() has found it to be of the member's type.
DLHOST_API void read(const Value&, bool&);
DLHOST_API void read(const Value&, std::int64_t&);
DLHOST_API void read(const Value&, double&);
DLHOST_API void read(const Value&, std::string&);
DLHOST_API void read(const Value&, Part&);
DLHOST_API void read(const Value&, Table&);
DLHOST_API void read(const Value&, std::vector<std::int64_t>&);
DLHOST_API void read(const Value&, std::vector<double>&);
DLHOST_API void read(const Value&, std::vector<std::string>&);
DLHOST_API void read(const Value&, std::vector<Part>&);
} // namespace detail

template <class Options> class SchemaOf : public Schema {
 public:
  using Schema::Schema;

  template <class M> SchemaOf& option(std::string name, M Options::*member, std::string doc, Bounds bounds = {}) {
    Option option = make(std::move(name), member, std::move(doc));
    option.bounds = bounds;
    add(std::move(option));
    return *this;
  }
  template <class M> SchemaOf& required(std::string name, M Options::*member, Bounds bounds, std::string doc) {
    Option option = make(std::move(name), member, std::move(doc));
    option.bounds = bounds;
    option.required = true;
    option.default_text.clear();
    add(std::move(option));
    return *this;
  }
  template <class M> SchemaOf& required(std::string name, M Options::*member, std::string doc) {
    return required(std::move(name), member, Bounds{}, std::move(doc));
  }
  // An option with a few words, each standing for a value of the member (mostly an enum).
  template <class E>
  SchemaOf& choice(std::string name, E Options::*member, std::vector<std::pair<std::string, E>> words,
                   std::string doc) {
    Option option;
    option.name = std::move(name);
    option.doc = std::move(doc);
    option.type = OptionType::text;
    const E fresh = Options{}.*member;
    for (const auto& [word, value] : words) {
      option.choices.push_back(word);
      if (value == fresh) option.default_text = detail::written(word);
    }
    option.store = [member, words = std::move(words)](void* options, const Value& value) {
      for (const auto& [word, meaning] : words)
        if (word == std::get<std::string>(value.data)) static_cast<Options*>(options)->*member = meaning;
    };
    add(std::move(option));
    return *this;
  }
  // An option that names a plugin of another kind. `bare`: the type and key of a value without a table: "fixed.base".
  template <class M>
  SchemaOf& part(std::string name, M Options::*member, Kind kind, std::string doc, std::string bare = {}) {
    Option option = make(std::move(name), member, std::move(doc));
    option.part = kind;
    option.bare = std::move(bare);
    add(std::move(option));
    return *this;
  }

 private:
  template <class M> static Option make(std::string name, M Options::*member, std::string doc) {
    Option option;
    option.name = std::move(name);
    option.doc = std::move(doc);
    option.type = detail::OptionTraits<M>::type;
    if constexpr (!std::is_same_v<M, Table>) option.default_text = detail::written(Options{}.*member);
    option.store = [member](void* options, const Value& value) {
      detail::read(value, static_cast<Options*>(options)->*member);
    };
    return option;
  }
};

} // namespace dlhost
