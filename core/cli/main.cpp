#include <exception>

#include <fmt/format.h>

#include "cli/command.h"
#include "plugin/faults.h"
#include "version.h"

int main(int argc, char** argv) {
  using namespace dlhost;
  plugin::install_fault_handlers();
  CLI::App app(
      "dlhost trains deep-learning models. A job is one TOML file; everything in it - layers, updaters, devices - "
      "is a plugin.\n\nStart with:  dlhost run job.toml");
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.fallthrough();
  cli::Context context;
  app.add_option("--plugin-dir", context.plugin_dirs, "a folder to look for plugins in, before all others")
      ->type_name("FOLDER");
  cli::add_run(app, context);
  cli::add_check(app, context);
  cli::add_evaluate(app, context);
  cli::add_predict(app, context);
  cli::add_plot(app, context);
  cli::add_inspect(app, context);
  cli::add_new(app, context);
  cli::add_conform(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : (app.exit(error), cli::exit_usage);
  } catch (const std::exception& error) {
    fmt::print(stderr, "dlhost: {}\n", error.what());
    return cli::exit_failed;
  }
  return context.exit_code;
}
