// dlhost simulate in a build without Boost.Context.
#include "cli/command.h"

namespace dlhost::cli {

void add_simulate(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("simulate", "train a job in virtual time (not in this build)");
  command->allow_extras();
  command->callback([&context] {
    context.fail(Status::unsupported("this build has no simulation: it needs Boost.Context (libboost-context-dev)"));
  });
}

} // namespace dlhost::cli
