#include <exception>

#include <fmt/format.h>

#include <dlhost/nearest.h>

#include "cli/command.h"
#include "env/process/spinning.h"
#include "env/process/write_signals.h"
#include "env/standard_files.h"
#include "plugin/exits.h"
#include "plugin/faults.h"
#include "version.h"

namespace {

// A word that a command does not know, with what it may have been.
void explain_words(const CLI::App& app, const CLI::App& command, const CLI::ParseError& error) {
  using namespace dlhost;
  const auto words = app.remaining(true);
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError) || words.empty()) {
    fmt::print(stderr, "dlhost: {}\n`dlhost {} --help` says what there is.\n", error.what(), command.get_name());
    return;
  }
  std::string word = words[0];
  if (word.starts_with("--")) word.resize(std::min(word.size(), word.find('=')));
  std::vector<std::string> known;
  for (const auto* option : command.get_options([](const CLI::Option* one) { return !one->get_group().empty(); }))
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  const bool option = word.starts_with("-");
  fmt::print(stderr, "dlhost: {} {} '{}'{}\n`dlhost {} --help` says what there is.\n", command.get_name(),
             option ? "has no option" : "takes no further word", word, option ? "; " + suggestion(word, known) : "",
             command.get_name());
}

// Wrong usage, in words: of a command that there is, or of none.
void explain_usage(CLI::App& app, const CLI::ParseError& error) {
  using namespace dlhost;
  if (!app.get_subcommands().empty()) {
    explain_words(app, *app.get_subcommands().front(), error);
    return;
  }
  const auto words = app.remaining();
  if (words.empty()) {
    fmt::print(stderr, "{}", app.help());
    return;
  }
  std::vector<std::string> known;
  for (const auto* command : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    known.push_back(command->get_name());
  const bool option = words[0].starts_with("-");
  fmt::print(stderr, "dlhost: there is no {} '{}'{}\n`dlhost --help` says what there is.\n",
             option ? "option" : "command", words[0], option ? "" : ": " + suggestion(words[0], known));
}

// The process's exit status.
int dlhost_main(int argc, char** argv) {
  using namespace dlhost;
  CLI::App app(
      "dlhost trains deep-learning models. A job is one TOML file; everything in it - layers, updaters, devices - "
      "is a plugin.\n",
      "dlhost");
  app.footer(concat("\nStart with:\n"
                    "  dlhost run job.toml             train a job\n"
                    "  dlhost inspect                  what a job can be made of\n"
                    "  dlhost COMMAND --help           more about one of these\n\n"
                    "Exit status: ",
                    cli::exit_statuses));
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.fallthrough();
  cli::Context context;
  app.add_option("--plugin-dir", context.plugin_dirs,
                 "a folder to look for plugins in, before all others; may be given several times")
      ->type_name("FOLDER")
      ->allow_extra_args(false); // what follows is a command, or a command's
  app.add_flag("-v,--verbose", context.verbose, "tell also what goes as it should: the log's lines from info on");
  cli::add_run(app, context);
  cli::add_launch(app, context);
  cli::add_check(app, context);
  cli::add_evaluate(app, context);
  cli::add_predict(app, context);
  cli::add_examples(app, context);
  cli::add_export(app, context);
  cli::add_import(app, context);
  cli::add_plot(app, context);
  cli::add_audit(app, context);
  cli::add_ps(app, context);
  cli::add_top(app, context);
  cli::add_scale(app, context);
  cli::add_sweep(app, context);
  cli::add_stop(app, context);
  cli::add_save(app, context);
  cli::add_kill(app, context);
  cli::add_inspect(app, context);
  cli::add_new(app, context);
  cli::add_conform(app, context);
  cli::add_bench(app, context);
  cli::add_simulate(app, context);
  cli::add_complete(app, context);
  cli::add_manual(app, context);
  cli::add_worker(app, context);
  cli::add_standby(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    explain_usage(app, error);
    return cli::exit_usage;
  } catch (const std::exception& error) {
    cli::say(error.what());
    return cli::exit_failed;
  }
  if (const Status status = env::flush_standard_output(); !status.ok() && context.exit_code == 0) context.fail(status);
  return context.exit_code;
}

} // namespace

int main(int argc, char** argv) {
  using namespace dlhost;
  env::spin_briefly(argv);
  env::hold_standard_files();
  env::tell_file_limits();
  plugin::install_fault_handlers();
  plugin::install_exit_guard();
  const int status = dlhost_main(argc, argv);
  plugin::order_end(status);
  return status;
}
