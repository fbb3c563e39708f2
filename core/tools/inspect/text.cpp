#include "tools/inspect/text.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dlhost::tools {

using nlohmann::json;

namespace {

std::string number_text(const json& number) { return fmt::format("{:g}", number.get<double>()); }

std::string range_text(const json& option) {
  std::string text;
  if (option.contains("lowest"))
    text = (option.value("open_low", false) ? "above " : "at least ") + number_text(option["lowest"]);
  if (option.contains("highest"))
    text += (text.empty() ? "" : " and ") + std::string(option.value("open_high", false) ? "below " : "at most ") +
            number_text(option["highest"]);
  return text;
}

std::string type_text(const json& option) {
  std::string type = option["type"].get<std::string>();
  if (option.contains("kind"))
    type = type == "part" ? option["kind"].get<std::string>() : "list of " + option["kind"].get<std::string>() + "s";
  if (option.contains("choices")) {
    type.clear();
    for (const auto& choice : option["choices"]) type += (type.empty() ? "" : " | ") + choice.get<std::string>();
  }
  if (const auto range = range_text(option); !range.empty()) type += ", " + range;
  return type;
}

// A table with columns as wide as their widest cell; the last column is free.
std::string table_text(const std::vector<std::vector<std::string>>& rows, std::string_view indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += line.erase(line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string options_text(const json& options) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& option : options) {
    const auto fallback = option["required"].get<bool>() ? "required"
                          : option.contains("default")   ? "default " + option["default"].get<std::string>()
                                                         : "";
    rows.push_back({option["name"], type_text(option), fallback, option["doc"]});
  }
  return table_text(rows, "    ");
}

// The first sentence of a doc text, for lists: up to a full stop before a capital letter.
std::string first_sentence(const json& product) {
  const auto doc = product.value("doc", std::string());
  auto end = doc.find('.');
  while (end != std::string::npos && end + 1 < doc.size() &&
         !(doc[end + 1] == ' ' && end + 2 < doc.size() && std::isupper(static_cast<unsigned char>(doc[end + 2]))))
    end = doc.find('.', end + 1);
  return doc.substr(0, end);
}

std::string state_text(const json& product) {
  if (product.contains("overridden_by")) return "overridden by " + product["overridden_by"].get<std::string>();
  if (product.contains("clashes_with")) return "clashes with " + product["clashes_with"].get<std::string>();
  return first_sentence(product);
}

std::string reasons_text(const json& item, std::string_view key, std::string_view mark) {
  std::string text;
  for (const auto& reason : item[key]) text += fmt::format("    {}{}\n", mark, reason.get<std::string>());
  return text;
}

// A line for each path: its speed and whether it is chosen; then its places and abilities.
std::string ways_text(const json& ways) {
  std::vector<std::vector<std::string>> speeds, places;
  for (const auto& way : ways) {
    const bool measured = way.contains("latency_us");
    speeds.push_back({way["name"], measured ? fmt::format("{:.2f} us", way["latency_us"].get<double>()) : "-",
                      measured ? fmt::format("{:.2f} GB/s", way["gigabytes_per_second"].get<double>()) : "-",
                      (way["chosen"].get<bool>()   ? "taken: "
                       : way["usable"].get<bool>() ? "not taken: "
                                                   : "of no use: ") +
                          way["why"].get<std::string>()});
    std::string all;
    for (const auto& place : way["places"]) all += (all.empty() ? "" : ", ") + place.get<std::string>();
    if (way.value("can", "") != "") all += (all.empty() ? "" : "; ") + way["can"].get<std::string>();
    places.push_back({way["name"], way["is"], all});
  }
  return "  networks that it can use here (64 bytes one way, bandwidth of 1 MiB):\n" + table_text(speeds, "    ") +
         "  which are:\n" + table_text(places, "    ");
}

// Such as "[2, 4, 8, 8]".
std::string shape_text(const json& shape) {
  std::string text;
  for (const auto& dim : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", dim.get<std::int64_t>());
  return "[" + text + "]";
}

// The names that a job can use: outputs in src, params in param.NAME.
std::string setup_text(const json& setup) {
  std::string inputs;
  for (const auto& shape : setup["inputs"]) inputs += (inputs.empty() ? "" : " and ") + shape_text(shape);
  const auto with = setup["with"].get<std::string>();
  std::vector<std::vector<std::string>> rows;
  for (const auto& output : setup["outputs"])
    rows.push_back({"output", output["name"].get<std::string>(), shape_text(output["shape"]), ""});
  for (const auto& param : setup["params"])
    rows.push_back({"param", param["name"].get<std::string>(), shape_text(param["shape"]),
                    "init = " + param["init"].get<std::string>()});
  for (const auto& metric : setup["metrics"]) rows.push_back({"metric", metric.get<std::string>(), "", ""});
  return fmt::format("  with an input of {}{}{}:\n", inputs, with == "{}" ? "" : " and ", with == "{}" ? "" : with) +
         table_text(rows, "    ");
}

std::string common_text(const json& product) {
  std::string names;
  for (const auto& option : product["common_options"])
    names += (names.empty() ? "" : ", ") + option["name"].get<std::string>();
  return fmt::format("  and, as each {}: {}\n", product["kind"].get<std::string>(), names);
}

std::string bytes_text(const json& bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes.get<std::uint64_t>()) / (1ULL << 30));
}

} // namespace

std::string list_text(const json& catalogue) {
  std::vector<std::vector<std::string>> rows;
  std::string refused;
  for (const auto& plugin : catalogue["plugins"]) {
    for (const auto& product : plugin["products"])
      if (plugin["problems"].empty())
        rows.push_back({product["kind"], product["name"], plugin["version"], state_text(product)});
    if (!plugin["problems"].empty())
      refused += fmt::format("  {}\n", plugin["path"].get<std::string>()) + reasons_text(plugin, "problems", "");
    else if (!plugin["warnings"].empty())
      refused +=
          fmt::format("  {}\n", plugin["path"].get<std::string>()) + reasons_text(plugin, "warnings", "warning: ");
  }
  std::ranges::sort(rows);
  std::string text = rows.empty() ? "no plugins found\n" : table_text(rows, "");
  if (!refused.empty()) text += "\nrefused, or with a warning:\n" + refused;
  text += "\nfolders, first to last:\n";
  for (const auto& folder : catalogue["folders"]) {
    text += fmt::format("  {} ({}{})\n", folder["path"].get<std::string>(), folder["origin"].get<std::string>(),
                        folder["exists"].get<bool>() ? "" : ", does not exist");
    text += reasons_text(folder, "problems", "not used: ");
  }
  return text + "\n`dlhost inspect NAME` shows what a plugin takes.\n";
}

std::string details_text(const json& plugins) {
  std::string text;
  for (const auto& plugin : plugins) {
    for (const auto& product : plugin["products"]) {
      text += fmt::format("{} '{}'{}\n", product["kind"].get<std::string>(), product["name"].get<std::string>(),
                          product.contains("doc") ? ": " + product["doc"].get<std::string>() : "");
      for (auto key : {"overridden_by", "clashes_with"})
        if (product.contains(key)) text += fmt::format("    {}\n", state_text(product));
      if (product.contains("options"))
        text += product["options"].empty() ? "    takes no options\n" : options_text(product["options"]);
      if (product.contains("common_options")) text += common_text(product);
      if (product.contains("trial") && product["trial"].is_object()) text += setup_text(product["trial"]);
      if (product.contains("ways") && !product["ways"].empty()) text += ways_text(product["ways"]);
      if (product.contains("ways_problem"))
        text += fmt::format("  networks that it can use here: {}\n", product["ways_problem"].get<std::string>());
    }
    text += fmt::format("  in {}{}\n", plugin["path"].get<std::string>(),
                        plugin.contains("version")
                            ? fmt::format(", version {}, built by {} for SDK epoch {}",
                                          plugin["version"].get<std::string>(), plugin["compiler"].get<std::string>(),
                                          plugin["epoch"].get<unsigned>())
                            : "");
    text += reasons_text(plugin, "problems", "refused: ") + reasons_text(plugin, "warnings", "warning: ");
  }
  return text;
}

std::string machine_text(const json& machine) {
  const auto& cpu = machine["cpu"];
  const auto& memory = machine["memory"];
  std::vector<std::vector<std::string>> rows = {
      {"dlhost", fmt::format("{}, built by {}", machine["dlhost"]["version"].get<std::string>(),
                             machine["dlhost"]["compiler"].get<std::string>())},
      {"CPU", cpu["model"]},
      {"", cpu["instruction_sets"]},
      {"cores", fmt::format("{} usable of {}, {} NUMA node(s)", cpu["cores_usable"].get<int>(), cpu["cores"].get<int>(),
                            cpu["numa_nodes"].get<int>())},
      {"memory", bytes_text(memory["total_bytes"]) + ", available " + bytes_text(memory["available_bytes"]) +
                     (memory.contains("limit_bytes") ? ", limited to " + bytes_text(memory["limit_bytes"]) : "")},
      {"/dev/shm", bytes_text(machine["shared_memory"]["total_bytes"]) + ", free " +
                       bytes_text(machine["shared_memory"]["free_bytes"])}};
  for (const auto& gpu : machine["gpus"])
    rows.push_back({"GPU", gpu["name"].get<std::string>() + ", " + bytes_text(gpu["memory_bytes"])});
  for (const auto& fabric : machine["fabrics"])
    rows.push_back({"fabric", fabric["name"].get<std::string>() + ", " + fabric["kind"].get<std::string>() +
                                  (fabric.contains("megabits_per_second")
                                       ? fmt::format(", {} Mbit/s", fabric["megabits_per_second"].get<std::uint64_t>())
                                       : "")});
  for (const auto& library : machine["libraries"])
    if (library["found"].get<bool>())
      rows.push_back({"library", library["name"].get<std::string>() + " " +
                                     library.value("version", library["lies_in"].get<std::string>())});
  std::string text = table_text(rows, "");
  if (!machine["missing"].empty()) text += "missing:\n";
  for (const auto& piece : machine["missing"]) text += "  " + piece.get<std::string>() + "\n";
  return text;
}

} // namespace dlhost::tools
