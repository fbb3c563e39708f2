#include "config/changes.h"

#include <algorithm>
#include <utility>

#include "config/document.h"

namespace dlhost::config {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>; // "layer.fc.units", "10"

std::string name_in(const Table& table) {
  const Value* const name = table.find("name");
  const auto* text = name ? std::get_if<std::string>(&name->data) : nullptr;
  return text ? *text : std::string();
}

bool is_list_of_tables(const List& list) {
  return !list.empty() &&
         std::ranges::all_of(list, [](const Value& one) { return std::holds_alternative<Table>(one.data); });
}

// In paths, layers and other named tables are identified by their names.
void flatten(const Table& table, const std::string& path, Lines& lines) {
  for (const auto& [key, value] : table.entries) {
    const std::string here = path.empty() ? key : concat(path, ".", key);
    const auto* list = std::get_if<List>(&value.data);
    if (const auto* inner = std::get_if<Table>(&value.data)) {
      flatten(*inner, here, lines);
    } else if (list && is_list_of_tables(*list)) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        const Table& one = std::get<Table>((*list)[i].data);
        const std::string name = name_in(one);
        flatten(one, concat(here, ".", name.empty() ? std::to_string(i) : name), lines);
      }
    } else {
      lines.emplace_back(here, detail::written(value));
    }
  }
}

Lines lines_of(const std::string& job) {
  Problems problems;
  Lines lines;
  flatten(parse_document(job, "job.toml", problems), "", lines);
  return lines;
}

} // namespace

std::vector<std::string> changes(const std::string& before, const std::string& after) {
  const Lines was = lines_of(before), is = lines_of(after);
  std::vector<std::string> all;
  for (const auto& [key, value] : is) {
    const auto then = std::ranges::find(was, key, &Lines::value_type::first);
    if (then == was.end())
      all.push_back(concat(key, " = ", value, " (was left out)"));
    else if (then->second != value)
      all.push_back(concat(key, " = ", value, " (was ", then->second, ")"));
  }
  for (const auto& [key, value] : was)
    if (std::ranges::find(is, key, &Lines::value_type::first) == is.end())
      all.push_back(concat(key, " is left out (was ", value, ")"));
  return all;
}

std::vector<std::string> distinctions(std::span<const std::string> jobs) {
  std::vector<Lines> all;
  for (const auto& job : jobs) all.push_back(lines_of(job));
  const auto value_in = [](const Lines& lines, const std::string& key) {
    const auto found = std::ranges::find(lines, key, &Lines::value_type::first);
    return found == lines.end() ? std::string() : found->second;
  };
  std::vector<std::string> keys; // keys that differ, in the order of the first job with the key
  for (const auto& lines : all)
    for (const auto& line : lines) {
      const std::string& key = line.first;
      if (key == "name" || key.starts_with("record.") || std::ranges::find(keys, key) != keys.end()) continue;
      if (std::ranges::any_of(all, [&](const Lines& other) { return value_in(other, key) != line.second; }))
        keys.push_back(key);
    }
  // "units", "rate.base": for a part's type and first option, its own name as well.
  const auto last_word = [](const std::string& key) {
    auto dot = key.rfind('.');
    const std::string word = key.substr(dot + 1);
    if (dot != std::string::npos && dot > 0 && (word == "type" || word == "base")) dot = key.rfind('.', dot - 1);
    return key.substr(dot + 1);
  };
  std::vector<std::string> texts(jobs.size());
  for (const auto& key : keys) {
    const bool unique = std::ranges::count(keys, last_word(key), last_word) == 1;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string value = value_in(all[i], key);
      if (!value.empty()) texts[i] += concat(texts[i].empty() ? "" : ", ", unique ? last_word(key) : key, " = ", value);
    }
  }
  return texts;
}

} // namespace dlhost::config
