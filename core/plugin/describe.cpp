#include "plugin/describe.h"

#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "env/printable.h"

namespace dlhost::plugin {

using nlohmann::json;

namespace {

// A plugin's text about itself, made printable.
std::string foreign(std::string_view text) { return env::printable(text, env::longest_foreign_text); }

json describe_option(const Option& option) {
  json shown = {{"name", foreign(option.name)},
                {"type", name_of(option.type)},
                {"doc", foreign(option.doc)},
                {"required", option.required}};
  if (!option.default_text.empty()) shown["default"] = foreign(option.default_text);
  const Bounds& bounds = option.bounds;
  if (std::isfinite(bounds.lowest)) shown["lowest"] = bounds.lowest;
  if (std::isfinite(bounds.highest)) shown["highest"] = bounds.highest;
  if (bounds.open_low) shown["open_low"] = true;
  if (bounds.open_high) shown["open_high"] = true;
  for (const auto& choice : option.choices) shown["choices"].push_back(foreign(choice));
  if (option.type == OptionType::part || option.type == OptionType::parts) shown["kind"] = name_of(option.part);
  if (!option.bare.empty()) shown["bare"] = option.bare;
  return shown;
}

// Marks products that another file provides as well. The file in the earlier folder is used; within one folder both are
// refused.
void mark_duplicates(const Catalogue& catalogue, json& plugins) {
  std::map<Product, std::size_t> first; // into the candidates
  for (std::size_t i = 0; i < catalogue.candidates.size(); ++i) {
    const Candidate& candidate = catalogue.candidates[i];
    if (!candidate.stamp) continue;
    for (std::size_t p = 0; p < candidate.stamp->provides.size(); ++p) {
      const auto [known, is_new] = first.emplace(candidate.stamp->provides[p], i);
      if (is_new) continue;
      const Candidate& other = catalogue.candidates[known->second];
      plugins[i]["products"][p][other.entry == candidate.entry ? "clashes_with" : "overridden_by"] = other.path;
    }
  }
}

} // namespace

json describe(const Schema& schema) {
  json options = json::array();
  for (const auto& option : schema.options()) options.push_back(describe_option(option));
  return {{"doc", foreign(schema.doc())}, {"options", options}};
}

json describe(const Candidate& candidate, const std::string& folder) {
  json shown = {{"path", candidate.path},
                {"folder", folder},
                {"problems", candidate.problems},
                {"warnings", candidate.warnings},
                {"products", json::array()}};
  if (!candidate.stamp) return shown;
  shown["name"] = candidate.stamp->name;
  shown["version"] = candidate.stamp->version;
  shown["compiler"] = candidate.stamp->compiler;
  shown["epoch"] = candidate.stamp->raw.epoch;
  for (const auto& product : candidate.stamp->provides)
    shown["products"].push_back({{"kind", name_of(product.kind)}, {"name", product.name}});
  return shown;
}

json describe(const Catalogue& catalogue) {
  json folders = json::array(), plugins = json::array();
  for (const auto& entry : catalogue.entries)
    folders.push_back({{"path", entry.where.path},
                       {"origin", entry.where.origin},
                       {"exists", entry.exists},
                       {"problems", entry.problems}});
  for (const auto& candidate : catalogue.candidates)
    plugins.push_back(describe(candidate, catalogue.entries[candidate.entry].where.path));
  mark_duplicates(catalogue, plugins);
  return {{"folders", folders}, {"plugins", plugins}};
}

} // namespace dlhost::plugin
