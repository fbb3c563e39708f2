// dlhost manual: prints the manual page, made from each command's --help.
#include <algorithm>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/tools.h"

namespace dlhost::cli {
namespace {

// Escapes text for troff: no word becomes a request.
std::string plain(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
    if (escaped.ends_with("\n.") || escaped.ends_with("\n'")) escaped.insert(escaped.size() - 1, "\\&");
  }
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", plain(text)); }
std::string italic(std::string_view text) { return fmt::format("\\fI{}\\fR", plain(text)); }

// Such as "-o, --output FILE".
std::string heading(const CLI::Option& option) {
  std::string names;
  for (const auto& name : option.get_snames()) names += (names.empty() ? "" : ", ") + bold("-" + name);
  for (const auto& name : option.get_lnames()) names += (names.empty() ? "" : ", ") + bold("--" + name);
  if (names.empty())
    names = italic(option.get_type_name());
  else if (option.get_expected_max() > 0 && !option.get_type_name().empty())
    names += " " + italic(option.get_type_name());
  return names;
}

void print_options(const CLI::App& command) {
  for (const auto* option : command.get_options([](const CLI::Option* one) { return !one->get_group().empty(); })) {
    if (option->check_lname("help")) continue;
    fmt::print(".TP\n{}\n{}\n", heading(*option), plain(option->get_description()));
  }
}

void print_command(const CLI::App& command) {
  std::string places;
  for (const auto* option : command.get_options([](const CLI::Option* one) { return one->get_positional(); }))
    places += " " + (option->get_required() ? italic(option->get_type_name())
                                            : fmt::format("[{}]", italic(option->get_type_name())));
  fmt::print(".SS {}{}\n{}.\n", bold(command.get_name()), places, plain(command.get_description()));
  print_options(command);
  if (!command.get_footer().empty()) fmt::print(".PP\n.nf\n{}\n.fi\n", plain(command.get_footer()));
}

constexpr std::pair<const char*, const char*> environment[] = {
    {"DLHOST_PLUGIN_PATH",
     "Folders to look for plugins in, separated by colons: after those of --plugin-dir, and before "
     "the user's and the installed ones."},
    {"DLHOST_DATA", "Where examples find data sets."},
    {"XDG_DATA_HOME", "The user's plugins are in dlhost/plugins below it, or below ~/.local/share."},
};

// A tool prints its own command, and dlhost those that are not tools.
bool is_tool(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* one) { return one->check_name("run"); }).empty();
}
bool is_elsewhere(const CLI::App& command) {
  return !is_tool(*command.get_parent()) && *description_of_tool(command.get_name());
}

void print_commands(const CLI::App& app) {
  for (const auto* command : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    if (!is_elsewhere(*command)) print_command(*command);
}

void print_manual(const CLI::App& app, Context& context) {
  fmt::print(".TH DLHOST 1 \"\" \"dlhost\" \"User commands\"\n"
             ".SH NAME\ndlhost \\- trains deep\\-learning models, with everything a plugin\n"
             ".SH SYNOPSIS\n\\fBdlhost\\fR [\\fIOPTION\\fR...] \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n"
             ".SH DESCRIPTION\n{}\n.SH OPTIONS\n",
             plain(app.get_description()));
  print_options(app);
  fmt::print(".SH COMMANDS\n");
  print_commands(app);
  print_manuals_of_tools(context);
  fmt::print(".SH ENVIRONMENT\n");
  for (const auto& [name, meaning] : environment) fmt::print(".TP\n{}\n{}\n", bold(name), plain(meaning));
  fmt::print(".SH EXIT STATUS\n{}\n.SH SEE ALSO\nThe folder {} of the documentation.\n", plain(exit_statuses),
             italic("docs"));
}

} // namespace

void add_manual(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("manual", "")->group("");
  command->callback([&app, &context] {
    if (is_tool(app))
      print_commands(app);
    else
      print_manual(app, context);
  });
}

} // namespace dlhost::cli
