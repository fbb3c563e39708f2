#include "config/crowd.h"

#include <algorithm>
#include <set>

#include "config/job_schema.h"

namespace dlhost::config {

namespace {

constexpr std::size_t most_unknown = 1000;

Value* find(Table& table, std::string_view key) {
  for (auto& [name, value] : table.entries)
    if (name == key) return &value;
  return nullptr;
}

// Whether core knows the key, in any table.
bool is_known(const std::string& key) {
  static const std::set<std::string, std::less<>> known = [] {
    std::set<std::string, std::less<>> names = {"include", "type"};
    for (const auto& [path, schema] : core_tables()) {
      names.insert(path.substr(path.rfind('.') + 1));
      for (const auto& option : schema.options()) names.insert(option.name);
    }
    return names;
  }();
  return known.contains(key);
}

} // namespace

Crowd::Crowd(Table& document) {
  thin(document, "");
  for (const auto& [path, schema] : core_tables()) {
    const auto dot = path.find('.');
    Value* value = find(document, path.substr(0, dot));
    auto* table = value ? std::get_if<Table>(&value->data) : nullptr;
    if (table && dot != std::string::npos) {
      value = find(*table, path.substr(dot + 1));
      table = value ? std::get_if<Table>(&value->data) : nullptr;
    }
    if (table) thin(*table, path + ".");
  }
  thin_items(document, "layer");
  thin_items(document, "block");
}

void Crowd::thin(Table& table, const std::string& path) {
  if (table.entries.size() <= most_unknown) return;
  std::size_t unknown = 0;
  std::erase_if(table.entries, [&](const TableEntry& entry) {
    if (is_known(entry.first) || ++unknown <= most_unknown) return false;
    keys_.push_back({path + entry.first, entry.second.where});
    return true;
  });
}

void Crowd::thin_items(Table& table, const std::string& key) {
  Value* value = find(table, key);
  auto* list = value ? std::get_if<List>(&value->data) : nullptr;
  if (!list) return;
  for (Value& item : *list) {
    auto* inner = std::get_if<Table>(&item.data);
    if (!inner) continue;
    thin(*inner, key + ": ");
    if (key == "block") thin_items(*inner, "layer");
  }
}

void Crowd::tell(Problems& problems) const {
  for (const auto& [path, where] : keys_) problems.add(where, path, ": unknown option");
}

} // namespace dlhost::config
