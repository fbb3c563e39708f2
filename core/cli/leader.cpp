#include "cli/leader.h"

#include <filesystem>

#include "env/holders.h"

namespace dlhost::cli {

Result<run::Leader> leader_of(Context& context, const std::string& run) {
  Disk& disk = context.host.disk();
  if (!disk.exists(run)) return Status::not_found("there is no run folder '", run, "'; `dlhost ps` lists what goes on");
  DLHOST_ASSIGN(const auto leader, run::Leadership::told(disk, run));
  std::error_code error;
  const std::string file = std::filesystem::canonical(run, error).string() + "/" + run::Leadership::file_name;
  for (const auto& holder : env::holders_of(run::Leadership::file_name))
    if (holder.process == leader.process && holder.path == file) return leader;
  return Status::not_found("the run in '", run, "' does not go on, or is not yours; `dlhost ps` lists those that do");
}

} // namespace dlhost::cli
