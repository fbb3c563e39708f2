#include "config/compose.h"

#include <algorithm>
#include <unordered_map>

#include "config/document.h"

namespace dlhost::config {

std::string folder_of(std::string_view path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

std::string join_path(const std::string& folder, const std::string& path) {
  const std::string whole = path.starts_with('/') || folder.empty() ? path : concat(folder, "/", path);
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= whole.size();) {
    const auto end = std::min(whole.find('/', start), whole.size());
    const std::string_view part(whole.data() + start, end - start);
    if (part == ".." && !parts.empty() && parts.back() != "..")
      parts.pop_back();
    else if (!part.empty() && part != ".")
      parts.push_back(part);
    start = end + 1;
  }
  std::string joined;
  for (const auto& part : parts) joined += concat(joined.empty() ? "" : "/", part);
  if (whole.starts_with('/')) return "/" + joined;
  return joined.empty() ? "." : joined;
}

namespace {

// Limits of what one job may include: more is a mistake or a hostile file.
constexpr std::size_t most_files = 256;
constexpr std::size_t longest_chain = 32;
constexpr std::uint64_t most_bytes = std::uint64_t{16} << 20; // sum over all files, repeated ones counted again

// Finds keys of a table: by a map, or one by one for few lookups.
class Keys {
 public:
  Keys(Table& table, std::size_t lookups) : table_(table), first_(table.entries.size()) {
    if (lookups < 16) return;
    for (std::size_t i = 0; i < first_; ++i) places_.emplace(table.entries[i].first, i);
  }
  // The value of a key that was there at construction.
  Value* find(const std::string& key) {
    if (!places_.empty()) {
      const auto place = places_.find(key);
      return place == places_.end() ? nullptr : &table_.entries[place->second].second;
    }
    for (std::size_t i = 0; i < first_; ++i)
      if (table_.entries[i].first == key) return &table_.entries[i].second;
    return nullptr;
  }

 private:
  Table& table_;
  std::size_t first_;
  std::unordered_map<std::string, std::size_t> places_;
};

const std::string* text_at(const Table& table, std::string_view key) {
  const Value* value = table.find(key);
  return value ? std::get_if<std::string>(&value->data) : nullptr;
}

void merge(Table& base, Table over);

// Merges lists of named tables: [[layer]], [[block]].
void merge_named(List& base, List over, bool whole) {
  std::unordered_map<std::string, std::size_t> places;
  const auto name_of = [](const Value& value) {
    const auto* table = std::get_if<Table>(&value.data);
    return table ? text_at(*table, "name") : nullptr;
  };
  for (std::size_t i = 0; i < base.size(); ++i)
    if (const auto* name = name_of(base[i])) places.emplace(*name, i);
  for (auto& item : over) {
    const auto* name = name_of(item);
    const auto same = name ? places.find(*name) : places.end();
    if (same == places.end()) {
      if (name) places.emplace(*name, base.size());
      base.push_back(std::move(item));
    } else if (whole) {
      base[same->second] = std::move(item);
    } else {
      merge(std::get<Table>(base[same->second].data), std::move(std::get<Table>(item.data)));
    }
  }
}

void merge_value(const std::string& key, Value& base, Value over) {
  auto* base_table = std::get_if<Table>(&base.data);
  auto* over_table = std::get_if<Table>(&over.data);
  auto* base_list = std::get_if<List>(&base.data);
  auto* over_list = std::get_if<List>(&over.data);
  if (base_list && over_list && (key == "layer" || key == "block"))
    return merge_named(*base_list, std::move(*over_list), key == "block");
  if (base_table && over_table) return merge(*base_table, std::move(*over_table));
  base = std::move(over);
}

void merge(Table& base, Table over) {
  // A new type has other options: none of the old ones stay.
  const auto* type = text_at(over, "type");
  const auto* old_type = text_at(base, "type");
  if (type && old_type && *type != *old_type) {
    const Value* name = over.find("name") ? nullptr : base.find("name");
    if (name) over.entries.insert(over.entries.begin(), {"name", *name});
    base = std::move(over);
    return;
  }
  Keys keys(base, over.entries.size());
  for (auto& [key, value] : over.entries) {
    if (Value* old = keys.find(key))
      merge_value(key, *old, std::move(value));
    else
      base.entries.emplace_back(key, std::move(value));
  }
}

class Composer {
 public:
  Composer(Disk& disk, Problems& problems) : disk_(disk), problems_(problems) {}

  Table read(const std::string& path, const Location& included_at) {
    auto text = disk_.read_text(path, most_bytes);
    if (!text.ok()) {
      problems_.add(included_at, text.status().message());
      return {};
    }
    bytes_ += text->size();
    if (bytes_ > most_bytes) {
      problems_.add(included_at, "include: the job's files come to more than ", most_bytes >> 20, " MiB");
      return {};
    }
    Table table = parse_document(*text, path, problems_);
    open_.push_back(path);
    Table whole = include(table, path);
    open_.pop_back();
    merge_top(whole, std::move(table));
    return whole;
  }

 private:
  // Reads and merges the included files; takes the key out of the table.
  Table include(Table& table, const std::string& path) {
    Table whole;
    const auto entry = std::ranges::find(table.entries, "include", [](const auto& item) { return item.first; });
    if (entry == table.entries.end()) return whole;
    Value value = std::move(entry->second);
    table.entries.erase(entry);
    if (!std::holds_alternative<List>(value.data)) value.data = List{value};
    for (const auto& item : std::get<List>(value.data)) {
      const auto* name = std::get_if<std::string>(&item.data);
      if (!name) {
        problems_.add(item.where, "include: must be a list of files, but has ", detail::written(item));
        continue;
      }
      const std::string file = join_path(folder_of(path), *name);
      if (std::ranges::find(open_, file) != open_.end()) {
        std::string chain;
        for (const auto& open : open_) chain += open + " -> ";
        problems_.add(item.where, "include: files include each other: ", chain, file);
        continue;
      }
      if (!may_include(item.where)) break;
      merge_top(whole, read(file, item.where));
    }
    return whole;
  }

  // Reports each exceeded limit once.
  bool may_include(const Location& where) {
    if (++files_ < most_files && open_.size() < longest_chain && bytes_ <= most_bytes) return true;
    if (files_ == most_files)
      problems_.add(where, "include: a job has at most ", most_files, " files, one that comes twice counted twice");
    else if (files_ < most_files && open_.size() >= longest_chain)
      problems_.add(where, "include: files include one another more than ", longest_chain, " deep");
    return false;
  }

  static void merge_top(Table& whole, Table over) {
    const Location where = over.where;
    merge(whole, std::move(over));
    whole.where = where;
  }

  Disk& disk_;
  Problems& problems_;
  std::size_t files_ = 0;         // number of included files
  std::uint64_t bytes_ = 0;       // sum of their sizes
  std::vector<std::string> open_; // the chain of files being read
};

} // namespace

Table compose(Disk& disk, const std::string& path, Problems& problems) {
  return Composer(disk, problems).read(join_path("", path), {});
}

} // namespace dlhost::config
