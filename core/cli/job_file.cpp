#include "cli/job_file.h"

#include "config/load.h"

namespace dlhost::cli {

Result<config::Job> load_job(Context& context, const std::string& path, const std::vector<std::string>& set) {
  DLHOST_TRY(plugin::any_found(context.registry().catalogue())); // else each name in the job would be unknown
  return config::load(context.host.disk(), path, set, context.registry());
}

} // namespace dlhost::cli
