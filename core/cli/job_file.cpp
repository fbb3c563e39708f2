#include "cli/job_file.h"

#include "config/load.h"
#include "plugin/explained.h"

namespace dlhost::cli {

Result<config::Job> load_job(Context& context, const std::string& path, const std::vector<std::string>& set) {
  DLHOST_TRY(plugin::any_found(context.registry().catalogue())); // else each name in the job would be unknown
  plugin::Explained plugins(context.registry());
  return config::load(context.host.disk(), path, set, plugins);
}

} // namespace dlhost::cli
