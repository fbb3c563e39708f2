#include "cli/run/succession.h"

#include <utility>

#include "env/process/launched.h"
#include "env/process/process.h"
#include "record/summary.h"
#include "run/recovery/standby.h"

namespace dlhost::cli {

std::vector<std::string> plugin_arguments(const Context& context) {
  std::vector<std::string> arguments;
  for (const auto& folder : context.plugin_dirs) arguments.insert(arguments.end(), {"--plugin-dir", folder});
  return arguments;
}

Result<std::optional<Succession>> succeed(Context& context, const std::string& run, int dead) {
  constexpr Nanoseconds pause = 20'000'000, longest = 600'000'000'000;
  Disk& disk = context.host.disk();
  Clock& clock = context.host.clock();
  std::optional<env::Lifeline> standby;
  const auto get_standby = [&]() -> Status {
    DLHOST_ASSIGN(standby, run::Standby::start(plugin_arguments(context), run));
    return {};
  };
  for (const Nanoseconds end = clock.now() + longest; clock.now() < end; clock.sleep(pause)) {
    const bool is_over = record::status_told(disk, run) != "running";
    if (is_over || !disk.exists(run::may_be_taken_over(run))) return std::optional<Succession>();
    auto leadership = run::Leadership::take(disk, run, env::host_name(), {}, get_standby);
    if (leadership.ok()) return std::optional(Succession{*std::move(leadership), *std::move(standby)});
    if (leadership.status().code() != Code::exists) return leadership.status();
    const auto now = run::Leadership::told(disk, run);
    if (now.ok() && now->process != dead && !now->workers.empty()) return std::optional<Succession>();
  }
  return Status::timeout("the run in ", run, " has a new leader, which has not begun");
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
