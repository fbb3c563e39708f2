// dlhost conform: runs the conformance suite of what a plugin file makes. The suites are a program of their own, so
// that core links no test library.
#include <fmt/format.h>

#include <unistd.h>

#include "cli/command.h"
#include "plugin/search.h"

namespace dlhost::cli {
namespace {

// Becomes that program; returns only when there is none.
Status become_conform(Context& context, const std::vector<std::string>& words) {
  const auto settings = plugin::settings_of_process(context.plugin_dirs);
  std::vector<std::string> arguments = {"dlhost-conform"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  for (const auto& folder : context.plugin_dirs) arguments.insert(arguments.end(), {"--plugin-dir", folder});
  // It lies in another folder, from which it would not find the install's plugins.
  if (context.host.disk().exists(settings.install_folder))
    arguments.insert(arguments.end(), {"--plugin-dir", settings.install_folder});
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  std::string looked;
  for (const char* place : {DLHOST_CONFORM_INSTALLED, DLHOST_CONFORM_BUILT}) {
    const std::string path = settings.program_folder + "/" + place;
    execv(path.c_str(), pointers.data());
    looked += concat(looked.empty() ? "" : " and ", path);
  }
  return Status::not_found("there is no dlhost-conform, looked for ", looked,
                           ": it is built where GoogleTest is there (in dlhost's tree: ./dev setup, then ./dev build)");
}

} // namespace

void add_conform(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("conform", "test a plugin file against the conformance suite of its kind");
  command->prefix_command()->fallthrough(false)->set_help_flag(); // everything behind it is the suite's, --help too
  command->callback([&context, command] {
    if (Status status = become_conform(context, command->remaining()); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
