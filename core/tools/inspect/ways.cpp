#include "tools/inspect/ways.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include <dlhost/transport.h>

#include "config/document.h"
#include "env/json_text.h"
#include "plugin/registry.h"
#include "tools/inspect/child.h"

namespace dlhost::tools {

using nlohmann::json;

namespace {

constexpr Nanoseconds time_for_ways = 60'000'000'000;

Result<Table> table_of(const std::vector<std::string>& settings) {
  Table table;
  for (const auto& setting : settings) {
    const auto equals = setting.find('=');
    config::Problems problems;
    if (equals != std::string::npos)
      table.entries.emplace_back(setting.substr(0, equals),
                                 config::parse_value(setting.substr(equals + 1), {}, problems));
    if (equals == std::string::npos || !problems.empty())
      return Status::invalid("'", setting, "' is not KEY=VALUE, such as listen=10.0.0.0/8");
  }
  return table;
}

json described(const Transport::Way& way) {
  json told = {{"name", way.name},     {"is", way.is},         {"places", way.places}, {"can", way.can},
               {"usable", way.usable}, {"chosen", way.chosen}, {"why", way.why}};
  if (way.latency > 0) {
    told["latency_us"] = way.latency * 1e6;
    told["gigabytes_per_second"] = way.bytes_per_second * 1e-9;
  }
  return told;
}

Result<json> ways_of(const std::string& name, const std::vector<std::string>& settings, cli::Context& context) {
  plugin::Registry registry(plugin::entries_of(plugin::settings_of_process(context.plugin_dirs)), context.host);
  DLHOST_ASSIGN(const Table table, table_of(settings));
  DLHOST_ASSIGN(const Schema* const schema, registry.schema(Kind::transport, name));
  for (const auto& problem : schema->parse(table, nullptr, &registry))
    return Status::invalid(problem.key, " ", problem.message);
  DLHOST_ASSIGN(const auto transport, registry.create<Transport>(name, table));
  DLHOST_ASSIGN(const auto ways, transport->ways(context.host));
  json told = json::array();
  for (const auto& way : ways) told.push_back(described(way));
  return told;
}

// Asks a child process. False: the child ended without an answer.
bool ask(json& product, const std::vector<std::string>& words) {
  auto child = Child::start(words);
  std::string line;
  if (!child.ok()) {
    product["ways_problem"] = child.status().message();
    return true;
  }
  const auto next = child->next(line, time_for_ways);
  json answer = next == Child::Next::line ? env::json_or_discarded(line) : json();
  if (answer.is_object() && answer.contains("ways")) {
    product["ways"] = std::move(answer["ways"]);
    product.erase("ways_problem");
    return true;
  }
  const bool ended = next == Child::Next::end;
  const std::string ending = child->wait(), last_words = child->errors();
  product["ways_problem"] = answer.is_object() && answer.contains("problem") ? answer["problem"].get<std::string>()
                            : ended ? concat("the trial of its networks ended the process that tried them: ", ending,
                                             last_words.empty() ? "" : "; ", last_words)
                                    : "the trial of its networks gave no answer within 60 s";
  return !ended;
}

// Asks a second time after a crash: the trials run many drivers, and libfabric 1.17 has crashed in one of dozens of
// runs.
void ask_twice(json& product, const std::vector<std::string>& settings, cli::Context& context) {
  std::vector<std::string> words;
  for (const auto& folder : context.plugin_dirs) words.insert(words.end(), {"--plugin-dir", folder});
  words.insert(words.end(), {ways_command, product["name"].get<std::string>()});
  words.insert(words.end(), settings.begin(), settings.end());
  if (!ask(product, words)) ask(product, words);
}

} // namespace

void add_ways(json& plugins, const std::vector<std::string>& settings, cli::Context& context) {
  for (auto& plugin : plugins)
    for (auto& product : plugin["products"])
      if (product["kind"] == name_of(Kind::transport) && plugin["problems"].empty() &&
          !product.contains("overridden_by"))
        ask_twice(product, settings, context);
}

int ways_child(const std::string& transport, const std::vector<std::string>& settings, cli::Context& context) {
  const auto ways = ways_of(transport, settings, context);
  const json answer = ways.ok() ? json{{"ways", *ways}} : json{{"problem", ways.status().message()}};
  const std::string line = env::json_text(answer) + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const auto written = write(child_output, line.data() + sent, line.size() - sent);
    if (written <= 0) return cli::exit_failed;
    sent += static_cast<std::size_t>(written);
  }
  return 0;
}

} // namespace dlhost::tools
