#include "tools/inspect/inspection.h"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include "env/json_text.h"
#include "plugin/describe.h"
#include "plugin/load.h"
#include "tools/inspect/child.h"
#include "tools/inspect/trial_setup.h"

namespace dlhost::tools {

using nlohmann::json;

namespace {

// One second more than the child's own watchdog, which reports more; this limit is for a child without one.
constexpr Nanoseconds child_limit = plugin::load_limit + 1'000'000'000;

json described_products(const std::string& path, bool tries_setup, Host& host) {
  const plugin::Candidate candidate = plugin::examine(path);
  if (!candidate.usable()) return {{"problem", plugin::joined(candidate.problems)}};
  const auto library = plugin::Library::load(candidate, host, plugin::load_limit, plugin::Library::Init::skip);
  if (!library.ok()) return {{"problem", library.status().message()}};
  json products = json::array();
  for (const Factory& factory : (*library)->factories()) {
    const auto schema = (*library)->schema(factory);
    if (!schema.ok()) return {{"problem", schema.status().message()}};
    json product = plugin::describe(*schema);
    if (tries_setup) product["trial"] = trial_setup(**library, factory);
    product["kind"] = name_of(factory.kind);
    product["name"] = factory.name;
    products.push_back(std::move(product));
  }
  return {{"products", std::move(products)}};
}

// The child's fault line without the plugin's name, which is shown beside it.
std::string first_words(const std::string& errors, const std::string& ending) {
  constexpr std::string_view mark = "dlhost: plugin '";
  const auto begin = errors.find(mark);
  if (begin == std::string::npos) return concat("loading it ended the process that looked at it: ", ending);
  const auto line = errors.substr(begin, errors.find('\n', begin) - begin);
  const auto past_path = line.find(") ");
  return concat("it ", past_path == std::string::npos ? line : line.substr(past_path + 2));
}

void take(json& plugin, const std::string& line) {
  const json answer = env::json_or_discarded(line);
  if (answer.is_discarded() || !answer.is_object()) {
    plugin["problems"].push_back("its description is not JSON");
  } else if (answer.contains("problem")) {
    plugin["problems"].push_back(answer["problem"]);
  } else {
    for (const auto& described : answer["products"])
      for (auto& product : plugin["products"])
        if (product["kind"] == described["kind"] && product["name"] == described["name"]) product.update(described);
  }
}

// Starts one child for these plugins, in order, until it crashes. Returns how many are done, at least one.
std::size_t ask_child(std::span<json* const> plugins) {
  std::vector<std::string> arguments = {child_command};
  for (const json* plugin : plugins) arguments.push_back((*plugin)["path"]);
  auto child = Child::start(arguments);
  if (!child.ok()) {
    for (json* plugin : plugins) (*plugin)["problems"].push_back(child.status().message());
    return plugins.size();
  }
  std::string line;
  for (std::size_t done = 0; done < plugins.size(); ++done) {
    const auto next = child->next(line, child_limit);
    if (next == Child::Next::line) {
      take(*plugins[done], line);
      continue;
    }
    const std::string ending = child->wait();
    (*plugins[done])["problems"].push_back(next == Child::Next::timeout ? "it hangs when it is loaded"
                                                                        : first_words(child->errors(), ending));
    return done + 1;
  }
  return plugins.size();
}

} // namespace

void add_schemas(json& plugins) {
  std::vector<json*> usable;
  for (auto& plugin : plugins)
    if (plugin["problems"].empty()) usable.push_back(&plugin);
  for (std::size_t done = 0; done < usable.size();) done += ask_child(std::span(usable).subspan(done));
}

// One child for each plugin: a crash here does not count as the plugin's problem.
void add_setups(json& plugins) {
  for (auto& plugin : plugins) {
    if (!plugin["problems"].empty()) continue;
    auto child = Child::start({child_command, "--try-setup", plugin["path"].get<std::string>()});
    std::string line;
    if (child.ok() && child->next(line, child_limit) == Child::Next::line) take(plugin, line);
  }
}

int inspect_child(std::span<const std::string> files, bool tries_setup, Host& host) {
  for (const auto& file : files) {
    const std::string line = env::json_text(described_products(file, tries_setup, host)) + "\n";
    for (std::size_t sent = 0; sent < line.size();) {
      const auto written = write(child_output, line.data() + sent, line.size() - sent);
      if (written <= 0) return 1;
      sent += static_cast<std::size_t>(written);
    }
  }
  return 0;
}

} // namespace dlhost::tools
