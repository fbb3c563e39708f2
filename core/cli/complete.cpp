// dlhost complete: prints the candidates at the cursor for shell completion, one on each line. Prints none for files:
// shells complete them.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cli/command.h"
#include "config/load.h"
#include "record/run_folder.h"

namespace dlhost::cli {
namespace {

using Words = std::vector<std::string>;

Words options_of(const CLI::App& command) {
  Words names;
  for (const auto* option : command.get_options([](const CLI::Option* one) { return !one->get_group().empty(); }))
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

Words plugins_of(plugin::Registry& registry) {
  Words names{"host"};
  for (const Kind kind : all_kinds())
    for (auto& name : registry.names(kind)) names.push_back(std::move(name));
  return names;
}

Words runs_in(Disk& disk, const std::string& folder) {
  Words names;
  const auto entries = disk.list(folder);
  if (!entries.ok()) return names;
  for (const auto& entry : *entries)
    if (!record::RunFolder::job_in(disk, concat(folder, "/", entry.name)).empty())
      names.push_back(concat(folder, "/", entry.name));
  return names;
}

// The job on the command line, as far as it is readable; none: no job.
std::optional<config::Job> job_on(Context& context, const Words& words) {
  const auto file = std::ranges::find_if(words, [](const std::string& word) { return word.ends_with(".toml"); });
  if (file == words.end()) return {};
  config::Problems ignored;
  return config::load(context.host.disk(), *file, {}, context.registry(), ignored);
}

// The values of a key after `=`; empty: free text.
Words values_of(plugin::Registry& registry, const Option& option) {
  if (option.type == OptionType::boolean) return {"true", "false"};
  if (option.type == OptionType::part) return registry.names(option.part);
  return option.choices;
}

// The keys of --set with their values.
std::vector<std::pair<std::string, Words>> keys_of(Context& context, const Words& words) {
  plugin::Registry& registry = context.registry();
  std::vector<std::pair<std::string, Words>> keys;
  const auto add = [&](const std::string& path, const Schema& schema) {
    for (const auto& option : schema.options())
      keys.emplace_back(path.empty() ? option.name : concat(path, ".", option.name), values_of(registry, option));
  };
  for (const auto& [path, schema] : config::core_tables())
    if (!path.starts_with("layer") && !path.starts_with("block") && path.find(' ') == std::string::npos)
      add(path, schema);
  const auto job = job_on(context, words);
  if (!job) return keys;
  const auto add_plugin = [&](const std::string& path, Kind kind, const std::string& type) {
    keys.emplace_back(path + ".type", registry.names(kind));
    if (const Schema* schema = registry.find(kind, type)) add(path, *schema);
  };
  add_plugin("updater", Kind::updater, job->updater.plugin.type);
  for (const auto& layer : job->layers) add_plugin("layer." + layer.name, Kind::layer, layer.type);
  return keys;
}

// `word`: KEY or KEY=VALUE.
Words settings(Context& context, const Words& words, const std::string& word) {
  Words found;
  const auto equals = word.find('=');
  for (const auto& [key, values] : keys_of(context, words)) {
    if (equals == std::string::npos)
      found.push_back(key + "=");
    else if (word.substr(0, equals) == key)
      for (const auto& value : values) found.push_back(concat(key, "=", value));
  }
  return found;
}

// The choices in "FORMAT:{csv,npy}"; empty: none listed.
Words choices_of(const std::string& type) {
  Words choices;
  const auto brace = type.find('{');
  for (std::size_t at = brace == std::string::npos ? type.size() : brace + 1; at < type.size();) {
    const auto end = std::min(type.find_first_of(",}", at), type.size());
    choices.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return choices;
}

// Candidates by the type name of an option or positional.
Words values(Context& context, const std::string& type, const Words& words, const std::string& word) {
  if (type == "RUN") return runs_in(context.host.disk(), "runs");
  if (type == "PHASE") return {"train", "validation", "test"};
  if (type == "KEY=VALUE" || type.starts_with("KEY=")) return settings(context, words, word);
  if (type == "NAME|FILE|host") return plugins_of(context.registry());
  if (type == "KIND") {
    Words kinds;
    for (const Kind kind : all_kinds()) kinds.emplace_back(name_of(kind));
    return kinds;
  }
  return choices_of(type);
}

const CLI::App* command_named(const CLI::App& app, const std::string& word) {
  const auto found = app.get_subcommands([&](const CLI::App* one) { return one->check_name(word); });
  return found.empty() ? nullptr : found[0];
}

// PHASE, or the type name as declared, such as "TEXT:{csv,npy}".
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.starts_with("PHASE") ? "PHASE" : type;
}

const CLI::Option* option_named(const CLI::App& command, const std::string& word) {
  const auto found = command.get_options([&](const CLI::Option* one) { return one->check_name(word); });
  return word.starts_with("-") && !found.empty() ? found[0] : nullptr;
}

// Joins words that a shell has split at `=`: "--set", "=", "KEY", "=".
Words joined(const Words& words) {
  Words whole;
  bool open = false;
  for (const auto& word : words) {
    const bool sign = word == "=" && !whole.empty();
    if (sign || open)
      whole.back() += word;
    else
      whole.push_back(word);
    open = sign;
  }
  return whole;
}

Words candidates(CLI::App& app, Context& context, const Words& given) {
  Words words = joined(given);
  if (words.empty()) words.emplace_back();
  std::string word = words.back();
  words.pop_back();
  const CLI::App* command = nullptr;
  std::size_t places = 0; // positional words of the command
  const CLI::Option* open = nullptr;
  for (const auto& before : words) {
    const CLI::Option* option = option_named(command ? *command : app, before);
    if (open)
      open = nullptr; // the option's value
    else if (option)
      open = option->get_expected_min() > 0 ? option : nullptr;
    else if (before.starts_with("-"))
      continue;
    else if (command)
      ++places;
    else if (command = command_named(app, before); !command)
      return {};
  }
  const auto equals = word.find('=');
  if (!open && word.starts_with("--") && equals != std::string::npos && command) {
    const std::string name = word.substr(0, equals);
    const auto* option = option_named(*command, name);
    Words found = option ? values(context, type_of(*option), words, word.substr(equals + 1)) : Words();
    for (auto& one : found) one.insert(0, name + "=");
    return found;
  }
  if (open) return values(context, type_of(*open), words, word);
  if (word.starts_with("-")) return options_of(command ? *command : app);
  if (!command) {
    Words names;
    for (const auto* one : app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); }))
      names.push_back(one->get_name());
    return names;
  }
  for (const auto* option : command->get_options([](const CLI::Option* one) { return one->get_positional(); }))
    if (places-- == 0) return values(context, type_of(*option), words, word);
  return {};
}

// Prints candidates without the part of the word that the shell has already split off.
void print_candidates(const Words& found, const Words& given) {
  const Words whole = joined(given);
  const std::string word = whole.empty() ? "" : whole.back(), shown = given.empty() ? "" : given.back();
  const std::size_t before = word.size() - (shown == "=" ? 0 : shown.size());
  for (const auto& one : std::set(found.begin(), found.end()))
    if (one.starts_with(word)) fmt::print("{}\n", one.substr(before));
}

} // namespace

void add_complete(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("complete", "")->group("");
  auto words = std::make_shared<Words>();
  command->add_option("words", *words);
  command->callback([&app, &context, words] { print_candidates(candidates(app, context, *words), *words); });
}

} // namespace dlhost::cli
