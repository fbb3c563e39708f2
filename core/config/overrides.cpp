#include "config/overrides.h"

#include <algorithm>

#include <dlhost/nearest.h>

#include "config/blocks.h"
#include "config/depth.h"
#include "config/document.h"
#include "config/job_schema.h"
#include "config/renamed.h"

namespace dlhost::config {

namespace {

// The names of the top-level tables and keys of a job file.
std::vector<std::string> top_names() {
  std::vector<std::string> names;
  for (const auto& [path, schema] : core_tables()) {
    if (path.empty())
      for (const auto& option : schema.options()) names.push_back(option.name);
    else if (path.find_first_of(". ") == std::string::npos)
      names.push_back(path);
  }
  return names;
}

// The table with the longest name that starts the path: names may contain dots.
template <class Tables, class TableOf> Table* named(Tables& tables, std::string_view path, const TableOf& table_of) {
  Table* best = nullptr;
  std::size_t length = 0;
  for (auto& item : tables) {
    Table* table = table_of(item);
    const Value* value = table ? table->find("name") : nullptr;
    const auto* name = value ? std::get_if<std::string>(&value->data) : nullptr;
    if (!name || name->size() <= length || path.size() <= name->size() + 1) continue;
    if (!path.starts_with(*name) || path[name->size()] != '.') continue;
    best = table;
    length = name->size();
  }
  return best;
}

std::size_t name_length(const Table& table) { return std::get<std::string>(table.find("name")->data).size(); }

} // namespace

Overrides::Overrides(std::span<const std::string> texts, Problems& problems, std::vector<std::string>& said)
    : problems_(problems) {
  for (const auto& text : texts) {
    const std::string cut = text.size() > 200 ? concat(text.substr(0, 200), "...") : text;
    const Location where{std::make_shared<const std::string>(concat("--set ", cut)), 0, 0};
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      problems.add(where, "must be KEY=VALUE, such as train.batch=32 or layer.fc1.units=100");
      continue;
    }
    if (std::ranges::count(text.substr(0, equals), '.') >= std::ptrdiff_t{most_levels}) {
      problems.add(where, "the key is of more than ", most_levels, " parts");
      continue;
    }
    Value value = parse_value(text.substr(equals + 1), where, problems);
    if (std::holds_alternative<std::monostate>(value.data)) continue; // reported already
    list_.push_back({renamed_path(text.substr(0, equals), said), std::move(value)});
  }
}

void Overrides::set(Table& table, const Override& change, std::size_t from) {
  Table* place = &table;
  for (;;) {
    const auto dot = std::min(change.path.find('.', from), change.path.size());
    const std::string key = change.path.substr(from, dot - from);
    if (key.empty()) return problems_.add(change.value.where, "the key has an empty part: '", change.path, "'");
    const auto entry = std::ranges::find(place->entries, key, [](const auto& item) { return item.first; });
    const bool last = dot == change.path.size();
    if (entry == place->entries.end()) {
      place->entries.emplace_back(key, last ? change.value : Value{Table{{}, change.value.where}, change.value.where});
      if (last) return;
      place = &std::get<Table>(place->entries.back().second.data);
    } else if (last) {
      // A new type of a part has other options: none of the old ones stay, as with includes. The keys of a layer beside
      // its type (src, params) belong to the net and stay.
      const bool other =
          key == "type" && place != &table && detail::written(entry->second) != detail::written(change.value);
      if (other)
        place->entries = {{key, change.value}};
      else
        entry->second = change.value;
      return;
    } else if (auto* inner = std::get_if<Table>(&entry->second.data)) {
      place = inner;
    } else {
      return problems_.add(change.value.where, change.path.substr(0, dot), " is ", detail::written(entry->second),
                           ", not a table; set it as a whole");
    }
    from = dot + 1;
  }
}

void Overrides::apply(Table& document) {
  std::vector<Override> rest;
  const auto known = top_names();
  // Types first: the other overrides apply to the new type, in any order on the command line.
  std::stable_partition(list_.begin(), list_.end(),
                        [](const Override& change) { return change.path.ends_with(".type"); });
  for (auto& change : list_) {
    const auto dot = change.path.find('.');
    const std::string top = change.path.substr(0, dot);
    if (std::ranges::find(known, top) == known.end()) {
      problems_.add(change.value.where, "unknown key '", top, "'; ", problems_.suggest(top, known));
      continue;
    }
    if (top != "layer" && top != "block") {
      set(document, change, 0);
      continue;
    }
    if (dot == std::string::npos || change.path.find('.', dot + 1) == std::string::npos) {
      problems_.add(change.value.where, "must be ", top, ".NAME.KEY=VALUE");
      continue;
    }
    const auto entry = std::ranges::find(document.entries, top, [](const auto& item) { return item.first; });
    auto* list = entry == document.entries.end() ? nullptr : std::get_if<List>(&entry->second.data);
    List none;
    Table* table = named(list ? *list : none, std::string_view(change.path).substr(dot + 1),
                         [](Value& value) { return std::get_if<Table>(&value.data); });
    // The path of a block's use and of a layer inside it start alike: conv2.with.width, conv2.1.a.units.
    const std::size_t key = table ? dot + 2 + name_length(*table) : 0;
    const bool inside = table && top == "layer" && table->find("block") &&
                        !is_use_key(change.path.substr(key, change.path.find('.', key) - key));
    if (table && !inside)
      set(*table, change, key);
    else
      rest.push_back(std::move(change));
  }
  list_ = std::move(rest);
}

void Overrides::apply(Layers& layers) {
  for (const auto& change : list_) {
    const auto dot = change.path.find('.');
    const std::string top = change.path.substr(0, dot);
    Table* table =
        named(layers.list, std::string_view(change.path).substr(dot + 1), [](RawLayer& layer) { return &layer.table; });
    if (table && top == "layer") {
      set(*table, change, dot + 2 + name_length(*table));
      continue;
    }
    std::vector<std::string> names;
    for (const auto& layer : layers.list)
      if (const Value* name = layer.table.find("name"); name && std::holds_alternative<std::string>(name->data))
        names.push_back(std::get<std::string>(name->data));
    if (top == "block") names = layers.blocks;
    const std::string name = change.path.substr(dot + 1, change.path.find_last_of('.') - dot - 1);
    problems_.add(change.value.where, "unknown ", top, " '", name, "'; ", problems_.suggest(name, names));
  }
}

} // namespace dlhost::config
