#include "cli/run/leader.h"

#include <filesystem>

#include "env/process/holders.h"

namespace dlhost::cli {

Result<Led> leader_of(Context& context, const std::string& run) {
  Disk& disk = context.host.disk();
  if (!disk.exists(run)) return Status::not_found("there is no run folder '", run, "'; `dlhost ps` lists what goes on");
  DLHOST_ASSIGN(const bool goes_on, run::Leadership::led(run));
  if (!goes_on) return Status::not_found("the run in '", run, "' is not running; `dlhost ps` lists those that are");
  DLHOST_ASSIGN(auto leader, run::Leadership::told(disk, run));
  Led led{.by = std::move(leader)};
  std::error_code error;
  const std::string file = std::filesystem::canonical(run, error).string() + "/" + run::Leadership::file_name;
  for (const auto& holder : env::holders_of(run::Leadership::file_name))
    led.here = led.here || (holder.process == led.by.process && holder.path == file);
  return led;
}

} // namespace dlhost::cli
