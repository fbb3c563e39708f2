#include "cli/command.h"

#include <cstdio>

#include "env/printable.h"

namespace dlhost::cli {

plugin::Registry& Context::registry() {
  if (!registry_) {
    if (verbose) host.user_log().set_lowest(LogLevel::info);
    const auto entries = plugin::entries_of(plugin::settings_of_process(plugin_dirs));
    registry_ = std::make_unique<plugin::Registry>(entries, host);
    host.set_maker([this](Kind kind, const Part& part) { return registry_->make(kind, part.type, part.options); });
  }
  return *registry_;
}

void say(const std::string& error) {
  const std::string shown = env::printable(error, env::longest_message);
  std::fputs(concat("dlhost: ", shown, "\n").c_str(), stderr); // an error of standard error cannot be shown
}

void Context::fail(const Status& status) {
  exit_code = status.code() == Code::cancelled ? exit_interrupted : exit_failed;
  say(status.message());
  host.user_log().keep(LogLevel::error, env::printable(status.message(), env::longest_message));
}

} // namespace dlhost::cli
