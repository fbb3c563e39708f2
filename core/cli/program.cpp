#include "cli/program.h"

#include <exception>

#include <fmt/format.h>

#include <dlhost/nearest.h>

#include "env/process/spinning.h"
#include "env/process/write_signals.h"
#include "env/standard_files.h"
#include "plugin/exits.h"
#include "plugin/faults.h"
#include "version.h"

namespace dlhost::cli {
namespace {

// Explains a word that the command does not know, with a suggestion.
void explain_words(const CLI::App& app, const CLI::App& command, const CLI::ParseError& error) {
  const auto words = app.remaining(true);
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError) || words.empty()) {
    fmt::print(stderr, "dlhost: {}\n`dlhost {} --help` lists its options.\n", error.what(), command.get_name());
    return;
  }
  std::string word = words[0];
  if (word.starts_with("--")) word.resize(std::min(word.size(), word.find('=')));
  std::vector<std::string> known;
  for (const auto* option : command.get_options([](const CLI::Option* one) { return !one->get_group().empty(); }))
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  const bool option = word.starts_with("-");
  fmt::print(stderr, "dlhost: {} {} '{}'{}\n`dlhost {} --help` lists its options.\n", command.get_name(),
             option ? "has no option" : "takes no further argument", word, option ? "; " + suggestion(word, known) : "",
             command.get_name());
}

// Explains wrong usage of a known command, or an unknown command.
void explain_usage(CLI::App& app, const CLI::ParseError& error) {
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
  fmt::print(stderr, "dlhost: unknown {} '{}'{}\n`dlhost --help` lists commands and options.\n",
             option ? "option" : "command", words[0], option ? "" : ": " + suggestion(words[0], known));
}

// Returns the process' exit status.
int run_program(int argc, char** argv, AddCommands add_commands) {
  CLI::App app(
      "dlhost trains deep-learning models. A job is one TOML file; everything in it - layers, updaters, devices - "
      "is a plugin.\n",
      "dlhost");
  app.footer(concat("\nStart with:\n"
                    "  dlhost run job.toml             train a job\n"
                    "  dlhost inspect                  what a job can be made of\n"
                    "  dlhost COMMAND --help           more about one of these\n\n"
                    "Exit status: ",
                    exit_statuses));
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.fallthrough();
  Context context;
  app.add_option("--plugin-dir", context.plugin_dirs,
                 "a folder to look for plugins in, before all others; may be given several times")
      ->type_name("FOLDER")
      ->allow_extra_args(false); // the next word is a command, or belongs to one
  app.add_flag("-v,--verbose", context.verbose, "print the log's info lines, too");
  add_commands(app, context);
  add_complete(app, context);
  add_manual(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    explain_usage(app, error);
    return exit_usage;
  } catch (const std::exception& error) {
    say(error.what());
    return exit_failed;
  }
  if (const Status status = env::flush_standard_output(); !status.ok() && context.exit_code == 0) context.fail(status);
  return context.exit_code;
}

} // namespace

int program_main(int argc, char** argv, AddCommands add_commands) {
  env::spin_briefly(argv);
  env::hold_standard_files();
  env::tell_file_limits();
  plugin::install_fault_handlers();
  plugin::install_exit_guard();
  const int status = run_program(argc, argv, add_commands);
  plugin::order_end(status);
  return status;
}

} // namespace dlhost::cli
