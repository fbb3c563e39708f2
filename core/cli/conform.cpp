// dlhost conform: runs the conformance suite for the products of a plugin file. The suites are a separate program, so
// that core does not link a test library.
#include "cli/command.h"
#include "cli/companions.h"

namespace dlhost::cli {
namespace {

Status become_conform(Context& context, std::vector<std::string> words) {
  const Companions companions(context, {DLHOST_CONFORM_INSTALLED, DLHOST_CONFORM_BUILT});
  for (const auto& folder : companions.plugin_folders()) words.insert(words.end(), {"--plugin-dir", folder});
  const auto path = companions.find("dlhost-conform");
  if (path.empty())
    return Status::not_found("there is no dlhost-conform, looked in ", companions.looked(),
                             ": build it with GoogleTest installed (in dlhost's tree: ./dev setup, then ./dev build)");
  return become(path, words);
}

} // namespace

void add_conform(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("conform", "test a plugin file against the conformance suite of its kind");
  command->prefix_command()->fallthrough(false)->set_help_flag(); // all further words belong to the suite, --help too
  command->callback([&context, command] {
    if (Status status = become_conform(context, command->remaining()); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
