// dlhost inspect: lists plugins, their options, and this machine's resources.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dlhost/nearest.h>

#include "cli/command.h"
#include "cli/tools.h"
#include "config/job.h"
#include "env/json_text.h"
#include "plugin/describe.h"
#include "tools/inspect/inspection.h"
#include "tools/inspect/machine.h"
#include "tools/inspect/text.h"
#include "tools/inspect/ways.h"
#include "tools/tool.h"
#include "version.h"

namespace dlhost::tools {

using nlohmann::json;

namespace {

struct Request {
  std::string what; // a name, a file or "host"; empty: everything
  std::string kind;
  std::vector<std::string> settings; // for a transport
  bool json = false;
};

plugin::Catalogue catalogue_of(const cli::Context& context) {
  return plugin::search(plugin::entries_of(plugin::settings_of_process(context.plugin_dirs)));
}

bool is_file(const std::string& what) { return what.find('/') != std::string::npos || what.ends_with(".so"); }

void print(const Request& request, const json& shown, std::string (*text)(const json&)) {
  fmt::print("{}", request.json ? env::json_text(shown, 2) + "\n" : text(shown));
}

// Keeps only the requested products, and plugins that have any.
void keep(json& plugins, const Request& request) {
  const auto unwanted = [&](const json& product) {
    return (!request.kind.empty() && product["kind"] != request.kind) ||
           (!request.what.empty() && product["name"] != request.what);
  };
  for (auto& plugin : plugins) std::erase_if(*plugin["products"].get_ptr<json::array_t*>(), unwanted);
  std::erase_if(*plugins.get_ptr<json::array_t*>(), [](const json& plugin) { return plugin["products"].empty(); });
}

// Adds core's own options of layers and updaters.
void add_common_options(json& plugins) {
  for (auto& plugin : plugins)
    for (auto& product : plugin["products"])
      for (const auto& [path, schema] : config::core_tables())
        if (path == product["kind"] && (path == "layer" || path == "updater"))
          product["common_options"] = plugin::describe(schema)["options"];
}

// Reports everything about one file. A refused file gives a failure as exit code too.
Status inspect_file(cli::Context& context, const Request& request) {
  const auto path = request.what.find('/') == std::string::npos ? "./" + request.what : request.what;
  json plugins = json::array({plugin::describe(plugin::examine(path), "")});
  add_schemas(plugins);
  add_setups(plugins);
  print(request, plugins, details_text);
  if (!plugins[0]["problems"].empty()) context.exit_code = cli::exit_failed;
  return {};
}

Status inspect_name(cli::Context& context, const Request& request) {
  json shown = plugin::describe(catalogue_of(context));
  std::vector<std::string> known;
  for (const auto& plugin : shown["plugins"])
    for (const auto& product : plugin["products"]) known.push_back(product["name"]);
  keep(shown["plugins"], request);
  if (shown["plugins"].empty())
    return Status::not_found("there is no ", request.kind.empty() ? "plugin" : request.kind, " '", request.what,
                             "': ", suggestion(request.what, known));
  add_schemas(shown["plugins"]);
  add_setups(shown["plugins"]);
  add_common_options(shown["plugins"]);
  add_ways(shown["plugins"], request.settings, context);
  print(request, shown["plugins"], details_text);
  return {};
}

Status inspect_all(cli::Context& context, const Request& request) {
  json shown = plugin::describe(catalogue_of(context));
  if (!request.kind.empty()) keep(shown["plugins"], request);
  add_schemas(shown["plugins"]);
  print(request, shown, list_text);
  return {};
}

Status inspect_host(cli::Context& context, const Request& request) {
  json machine = describe_machine(catalogue_of(context));
  machine["dlhost"]["version"] = version_text();
  print(request, machine, machine_text);
  return {};
}

Status inspect(cli::Context& context, const Request& request) {
  if (!request.kind.empty() && !kind_named(request.kind)) {
    std::vector<std::string> known;
    for (Kind kind : all_kinds()) known.emplace_back(name_of(kind));
    return Status::invalid("there is no kind '", request.kind, "': ", suggestion(request.kind, known));
  }
  if (request.what == "host") return inspect_host(context, request);
  if (is_file(request.what)) return inspect_file(context, request);
  return request.what.empty() ? inspect_all(context, request) : inspect_name(context, request);
}

} // namespace

void add_command(CLI::App& app, cli::Context& context) {
  auto* command = app.add_subcommand("inspect", cli::description_of_tool("inspect"));
  auto request = std::make_shared<Request>();
  command->add_option("what", request->what, "a plugin's name, a plugin file, or `host`; all plugins when left out")
      ->type_name("NAME|FILE|host");
  command->add_option("--kind", request->kind, "only this kind: layer, updater, device, ...")->type_name("KIND");
  command
      ->add_option("--set", request->settings,
                   "an option of the shown transport, for the trial of its networks (may be repeated)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--json", request->json, "print JSON, for programs");
  command->footer(
      "Also shows the plugin folders, and the refused plugins with the reasons.\n\n"
      "Examples:\n"
      "  dlhost inspect                    every plugin, in a line each\n"
      "  dlhost inspect convolution        the options of one\n"
      "  dlhost inspect --kind updater     those of one kind\n"
      "  dlhost inspect ./my_layer.so      a plugin file in any folder\n"
      "  dlhost inspect fabric --set listen=10.0.0.0/8\n"
      "                                    the networks that a transport can use here, their speeds, its choice\n"
      "  dlhost inspect host               this machine");
  command->callback([&context, request] {
    if (Status status = inspect(context, *request); !status.ok()) context.fail(status);
  });

  auto files = std::make_shared<std::vector<std::string>>();
  auto* child = app.add_subcommand(child_command, "")->group("");
  auto tries_setup = std::make_shared<bool>(false);
  child->add_option("files", *files);
  child->add_flag("--try-setup", *tries_setup);
  child->callback(
      [&context, files, tries_setup] { context.exit_code = inspect_child(*files, *tries_setup, context.host); });

  auto words = std::make_shared<std::vector<std::string>>();
  auto* ways = app.add_subcommand(ways_command, "")->group("");
  ways->add_option("words", *words)->required();
  ways->callback([&context, words] {
    context.exit_code = ways_child(words->front(), {words->begin() + 1, words->end()}, context);
  });
}

} // namespace dlhost::tools
