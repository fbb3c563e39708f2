#include "config/renamed.h"

#include <algorithm>
#include <array>

#include "config/problems.h"

namespace dlhost::config {
namespace {

struct Renamed {
  std::string_view table, from, to; // the table's present path; "" is the top of the file
};

constexpr std::array keys{
    Renamed{"", "data_from", "get_data"},          Renamed{"train", "last", "last_batch"},
    Renamed{"train", "start", "init_from"},        Renamed{"train.init_from", "from", "path"},
    Renamed{"train.init_from", "keep", "except"},  Renamed{"train.init_from", "ignore", "unused"},
    Renamed{"topology", "copy", "device_copies"},  Renamed{"topology", "factors", "gradient_factors"},
    Renamed{"topology", "shares", "batch_shares"}, Renamed{"topology", "codec_of", "codec_for"},
    Renamed{"topology", "data", "group_data"},     Renamed{"topology", "device_workers", "workers_on_device"},
    Renamed{"recovery", "silence", "timeout"},     Renamed{"checkpoint", "best", "best_by"},
};
constexpr Renamed label{"layer", "ignored", "ignore_label"};
constexpr std::string_view labelled[] = {"softmax_loss", "accuracy", "confusion"}; // the layers with this option
constexpr std::array names{Renamed{"", "keep", "except"}, Renamed{"", "ignore", "unused"}};

std::string path_of(std::string_view table, std::string_view key) {
  return table.empty() ? std::string(key) : concat(table, ".", key);
}

std::string told(const Renamed& key) {
  return concat(path_of(key.table, key.from), " is called ", path_of(key.table, key.to),
                " now; this version still takes the old name");
}

void rename(Table& table, const Renamed& key, std::vector<std::string>& said) {
  for (auto& entry : table.entries)
    if (entry.first == key.from) {
      said.push_back(concat(to_string(entry.second.where), ": ", told(key)));
      entry.first = key.to;
    }
}

// Null: no such table.
Table* table_at(Table& document, std::string_view path) {
  Table* table = &document;
  while (!path.empty()) {
    const auto word = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(word.size() + 1, path.size()));
    const auto found = std::ranges::find(table->entries, word, &TableEntry::first);
    table = found == table->entries.end() ? nullptr : std::get_if<Table>(&found->second.data);
    if (!table) return nullptr;
  }
  return table;
}

bool has_label(const Table& layer) {
  const Value* type = layer.find("type");
  const auto* word = type ? std::get_if<std::string>(&type->data) : nullptr;
  return word && std::ranges::find(labelled, *word) != std::end(labelled);
}

} // namespace

void rename_old_keys(Table& document, std::vector<std::string>& said) {
  for (const auto& key : keys)
    if (Table* table = table_at(document, key.table)) rename(*table, key, said);
}

void rename_old_keys(Layers& layers, std::vector<std::string>& said) {
  for (auto& layer : layers.list)
    if (has_label(layer.table)) rename(layer.table, label, said);
}

void rename_old_names(Table& table) {
  std::vector<std::string> said;
  for (const auto& key : names) rename(table, key, said);
}

std::string renamed_path(const std::string& path, std::vector<std::string>& said) {
  std::string now = path;
  for (const auto& key : keys) {
    const std::string old = path_of(key.table, key.from);
    if (!now.starts_with(old) || (now.size() > old.size() && now[old.size()] != '.')) continue;
    said.push_back(concat("--set ", path, ": ", told(key)));
    now = path_of(key.table, key.to) + now.substr(old.size());
  }
  return now;
}

} // namespace dlhost::config
