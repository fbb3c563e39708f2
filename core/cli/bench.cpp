// dlhost bench: runs a benchmark, which is a separate program.
#include <cstdlib>

#include <dlhost/nearest.h>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/companions.h"

namespace dlhost::cli {
namespace {

// Benchmarks search for plugins in DLHOST_PLUGIN_PATH.
void name_plugins(const Companions& companions) {
  const char* known = std::getenv("DLHOST_PLUGIN_PATH");
  std::string path = known ? known : "";
  for (const auto& folder : companions.plugin_folders()) path += concat(path.empty() ? "" : ":", folder);
  setenv("DLHOST_PLUGIN_PATH", path.c_str(), 1);
}

Status bench(Context& context, std::vector<std::string> words) {
  const Companions companions(context, {DLHOST_BENCH_INSTALLED, DLHOST_BENCH_BUILT});
  const auto names = companions.names();
  if (names.empty())
    return Status::not_found("there are no benchmarks, looked in ", companions.looked(),
                             ": build them with Google Benchmark installed (in dlhost's tree: ./dev bench)");
  if (words.empty()) {
    for (const auto& name : names) fmt::print("{}\n", name);
    return {};
  }
  const std::string path = companions.find(words.front());
  if (path.empty())
    return Status::not_found("there is no benchmark '", words.front(), "': ", suggestion(words.front(), names),
                             "; peers and papers need other systems: run ./dev bench in dlhost's tree");
  name_plugins(companions);
  return become(path, {words.begin() + 1, words.end()});
}

} // namespace

void add_bench(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("bench", "run a benchmark: ops, layers, transports, ...; without a name, list them");
  // The words after the benchmark's name belong to it, --help too.
  command->prefix_command()->fallthrough(false)->set_help_flag();
  command->footer("dlhost bench NAME [OPTIONS] runs one; `dlhost bench NAME --help` prints its options.");
  command->callback([&context, command] {
    const auto words = command->remaining();
    if (!words.empty() && (words.front() == "--help" || words.front() == "-h")) {
      fmt::print("{}", command->help());
      return;
    }
    if (Status status = bench(context, command->remaining()); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
