#include "config/document.h"

#include <algorithm>

// The library asserts some things that a malformed file can break ("[|x]"), and in release builds turns these asserts
// into assumptions, which is worse. It goes on to check them properly, so that they are left out, in every build.
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace dlhost::config {

namespace {

class Reader {
 public:
  Reader(std::shared_ptr<const std::string> file, Problems& problems) : file_(std::move(file)), problems_(problems) {}

  Location location(const toml::source_region& region) const { return {file_, region.begin.line, region.begin.column}; }

  Table table(const toml::table& source) const {
    Table table;
    table.where = location(source.source());
    for (const auto& [key, node] : source)
      table.entries.emplace_back(std::string(key.str()), value(node, location(key.source())));
    // The library sorts by name; people read in the order of the file.
    std::ranges::stable_sort(table.entries, {}, [](const auto& entry) {
      return std::pair(entry.second.where.line, entry.second.where.column);
    });
    return table;
  }

 private:
  // A value's place is its key's, which is where people look; elements of a list have their own.
  Value value(const toml::node& node, const Location& where) const {
    switch (node.type()) {
    case toml::node_type::table: return {table_at(*node.as_table(), where), where};
    case toml::node_type::array: return {list(*node.as_array()), where};
    case toml::node_type::string: return {node.as_string()->get(), where};
    case toml::node_type::integer: return {node.as_integer()->get(), where};
    case toml::node_type::floating_point: return {node.as_floating_point()->get(), where};
    case toml::node_type::boolean: return {node.as_boolean()->get(), where};
    default:
      problems_.add(where, "dates and times mean nothing in a job file; write a text in quotes");
      return {{}, where};
    }
  }

  Table table_at(const toml::table& source, const Location& where) const {
    Table inner = table(source);
    if (inner.where.line == 0) inner.where = where; // made by a dotted key
    return inner;
  }

  List list(const toml::array& source) const {
    List list;
    for (const auto& node : source) list.push_back(value(node, location(node.source())));
    return list;
  }

  std::shared_ptr<const std::string> file_;
  Problems& problems_;
};

} // namespace

Table parse_document(std::string_view text, const std::string& name, Problems& problems) {
  auto file = std::make_shared<const std::string>(name);
  const Reader reader(file, problems);
  const toml::parse_result result = toml::parse(text, std::string_view(name));
  if (!result) {
    problems.add(reader.location(result.error().source()), "not valid TOML: ", result.error().description());
    return {{}, {file, 1, 1}};
  }
  return reader.table(result.table());
}

Value parse_value(const std::string& text, const Location& where, Problems& problems) {
  const toml::parse_result result = toml::parse(concat("value = ", text));
  if (result && result.table().size() == 1) {
    Problems inner;
    const Table table = Reader(where.file, inner).table(result.table());
    if (!inner.empty()) problems.add(where, inner.list().front().message);
    struct Move {
      Location where;
      void operator()(Value& value) const {
        value.where = where;
        if (auto* list = std::get_if<List>(&value.data))
          for (auto& item : *list) (*this)(item);
        if (auto* inner_table = std::get_if<Table>(&value.data)) {
          inner_table->where = where;
          for (auto& [key, item] : inner_table->entries) (*this)(item);
        }
      }
    };
    Value value = table.entries.front().second;
    Move{where}(value);
    return value;
  }
  if (!text.empty() && std::string_view("\"'[{").find(text.front()) != std::string_view::npos)
    problems.add(where, "not valid TOML: ", result ? "more than one value" : result.error().description());
  return {text, where};
}

} // namespace dlhost::config
