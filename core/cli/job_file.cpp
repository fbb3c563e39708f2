#include "cli/job_file.h"

#include "config/load.h"

namespace dlhost::cli {

Result<config::Job> load_job(Context& context, const std::string& path, const std::vector<std::string>& set,
                             run::Purpose purpose) {
  auto& registry = context.registry();
  DLHOST_TRY(plugin::any_found(registry.catalogue())); // without plugins each name in the job would be unknown
  config::Problems problems;
  auto job = config::load(context.host.disk(), path, set, registry, problems);
  if (job && !problems.empty()) run::Session::examine(context.host, registry, *job, purpose, problems);
  DLHOST_TRY(problems.status());
  for (const auto& remark : job->remarks) context.host.log().write(LogLevel::warning, remark);
  return *std::move(job);
}

} // namespace dlhost::cli
