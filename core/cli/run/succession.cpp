#include "cli/run/succession.h"

#include <utility>

#include "env/process/launched.h"
#include "env/process/process.h"
#include "env/process/processes.h"
#include "run/recovery/standby.h"
#include "run/recovery/succession.h"

namespace dlhost::cli {

std::vector<std::string> plugin_arguments(const Context& context) {
  std::vector<std::string> arguments;
  for (const auto& folder : context.plugin_dirs) arguments.insert(arguments.end(), {"--plugin-dir", folder});
  return arguments;
}

Result<std::optional<Succession>> succeed(Context& context, const std::string& run, int dead) {
  std::optional<env::Lifeline> standby;
  env::RealProcesses processes;
  DLHOST_ASSIGN(auto leadership, run::succeed(context.host, processes, run, env::host_name(), dead, [&]() -> Status {
                  DLHOST_ASSIGN(standby, run::Standby::start(plugin_arguments(context), run));
                  return {};
                }));
  if (!leadership) return std::optional<Succession>();
  return std::optional(Succession{*std::move(leadership), *std::move(standby)});
}

Status lead_instead(Context& context, const std::string& run, Succession succession) {
  DLHOST_ASSIGN(const int lock, succession.leadership.hand_over());
  DLHOST_ASSIGN(const int standby, succession.standby.hand_over());
  std::vector<std::string> arguments = plugin_arguments(context);
  arguments.insert(arguments.end(),
                   {"run", "--resume", run, "--take-over", concat(lock), "--standby", concat(standby)});
  return env::become_own(arguments, run + "/output.log");
}

} // namespace dlhost::cli
