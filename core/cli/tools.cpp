#include "cli/tools.h"

#include <algorithm>
#include <cstdio>

#include "cli/companions.h"
#include "env/process/process.h"
#include "tool_names.h"

namespace dlhost::cli {
namespace {

// The words of the command line that are no options of dlhost itself.
std::vector<std::string_view> words_of(char** argv) {
  std::vector<std::string_view> words;
  for (char** word = argv + 1; *word; ++word) {
    const std::string_view text = *word;
    if (words.empty() && text == "--plugin-dir" && word[1])
      ++word;
    else if (!text.starts_with('-'))
      words.push_back(text);
  }
  return words;
}

Companions tools_of(Context& context) { return {context, {DLHOST_TOOLS_INSTALLED, DLHOST_TOOLS_BUILT}}; }

std::string file_of(std::string_view tool) { return concat("dlhost-", tool); }

Status why_not_there(Context& context, std::string_view tool) {
  return Status::not_found("`dlhost ", tool, "` is a separate program, ", file_of(tool), ", which is neither in ",
                           tools_of(context).looked(), "; `./dev build product` in dlhost's tree makes it",
                           tool == "simulate" ? ", where Boost.Context is (libboost-context-dev)" : "");
}

} // namespace

const char* description_of_tool(std::string_view name) {
  const auto* const found = std::ranges::find(all_tools, name, &Tool::name);
  return found == std::end(all_tools) ? "" : found->description;
}

void become_tool(char** argv) {
  const auto words = words_of(argv);
  if (words.empty()) return;
  const bool completes = words.front() == "complete" && words.size() > 1;
  const std::string_view name = words[completes ? 1 : 0];
  if (!*description_of_tool(name)) return;
  Context context;
  const std::string path = tools_of(context).find(file_of(name));
  if (path.empty()) return;
  std::vector<std::string> all;
  for (char** word = argv + 1; *word; ++word) all.emplace_back(*word);
  if (const Status status = become(path, std::move(all)); !status.ok()) say(status.message());
}

void add_tools(CLI::App& app, Context& context) {
  for (const Tool& tool : all_tools) {
    auto* command = app.add_subcommand(tool.name, tool.description);
    command->prefix_command()->fallthrough(false)->set_help_flag();
    command->callback([&context, &tool] { context.fail(why_not_there(context, tool.name)); });
  }
}

void print_manuals_of_tools(Context& context) {
  for (const Tool& tool : all_tools) {
    const std::string path = tools_of(context).find(file_of(tool.name));
    if (path.empty()) continue;
    std::fflush(stdout);
    auto process = env::Process::start({path, "manual"}, {.in = 0, .out = 1, .err = 2});
    constexpr std::int64_t limit = 30'000'000'000;
    if (!process.ok() || !(*process)->wait(limit) || (*process)->exit_status() != 0) context.exit_code = exit_failed;
  }
}

} // namespace dlhost::cli
