// dlhost examples: lists the bundled jobs.
#include <fmt/format.h>

#include "cli/companions.h"

namespace dlhost::cli {
namespace {

// The description of a job: its first line.
std::string description_of(Disk& disk, const std::string& job) {
  const auto text = disk.read_text(job);
  if (!text.ok() || !text->starts_with("# ")) return {};
  return text->substr(2, text->find('\n') - 2);
}

Status examples(Context& context) {
  Disk& disk = context.host.disk();
  const Companions companions(context, {DLHOST_EXAMPLES_INSTALLED, DLHOST_EXAMPLES_BUILT});
  for (const auto& folder : companions.folders()) {
    const auto entries = disk.list(folder);
    if (!entries.ok()) continue;
    fmt::print("Jobs in {}, each with a README.md that says what to expect:\n", folder);
    for (const auto& entry : *entries) {
      const std::string job = concat(folder, "/", entry.name, "/job.toml");
      if (disk.exists(job)) fmt::print("  {:<20} {}\n", entry.name, description_of(disk, job));
    }
    fmt::print("dlhost run {}/digits/job.toml\n  trains the quick-start\n", folder);
    return {};
  }
  return Status::not_found("the examples are not installed; looked in ", companions.looked());
}

} // namespace

void add_examples(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("examples", "list the example jobs that come with dlhost, and their folder");
  command->callback([&context] {
    if (Status status = examples(context); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
