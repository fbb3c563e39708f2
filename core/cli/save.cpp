// dlhost save: the params of a run that ended on a full disk, into another folder.
#include <filesystem>

#include <fmt/format.h>

#include "cli/run/full_disk.h"
#include "cli/run/leader.h"
#include "cli/run_named.h"

namespace dlhost::cli {
namespace {

struct SaveOptions {
  std::string run, to;
};

Status save(Context& context, SaveOptions options) {
  DLHOST_ASSIGN(options.run, run_named(context.host.disk(), options.run));
  DLHOST_ASSIGN(const Led led, leader_of(context, options.run));
  if (!led.here)
    return Status::invalid("the run in '", options.run, "' is led by process ", led.by.process, " of ", led.by.host,
                           ": call this there");
  auto saved = save_elsewhere(context.host, led.by.process, std::filesystem::absolute(options.to).string());
  if (saved.status().code() == Code::not_found)
    return Status::invalid("the run in '", options.run,
                           "' is not waiting for room; `dlhost stop` lets a run save and end");
  DLHOST_TRY(saved.status());
  fmt::print("saved in {}; dlhost eval {} --job {}/job.toml measures it\n", *saved, *saved, options.run);
  return {};
}

} // namespace

void add_save(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("save", "save a run that waits for room on a full disk into another folder");
  auto options = std::make_shared<SaveOptions>();
  add_run_named(*command, options->run);
  command->add_option("--to", options->to, "where")->required()->type_name("FOLDER");
  command->footer(
      "A run whose disk is full when it ends keeps its params in memory for `checkpoint.wait` seconds, and\n"
      "writes them when there is room. This has it write them elsewhere.\n\n"
      "Example:\n"
      "  dlhost save digits --to /other/disk/digits");
  command->callback([&context, options] {
    if (Status status = save(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
