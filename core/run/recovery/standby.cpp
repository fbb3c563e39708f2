#include "run/recovery/standby.h"

#include "env/process/process.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds to_come_up = 30'000'000'000;

} // namespace

Result<env::Lifeline> Standby::start(const std::vector<std::string>& plugins, const std::string& run) {
  std::vector<std::string> arguments = plugins;
  arguments.insert(arguments.end(), {"standby", run, concat(env::own_process())});
  DLHOST_ASSIGN(auto line, env::Lifeline::start_own(arguments, run + "/output.log"));
  DLHOST_TRY(line.await_watcher(to_come_up));
  return line;
}

Standby::Standby(Host& host, std::vector<std::string> plugins, std::string run, env::Lifeline line)
    : host_(host), plugins_(std::move(plugins)), run_(std::move(run)), line_(std::move(line)),
      woken_(host.tasks().waiter()), task_(host.tasks().start("standby", [this] { keep_up(); })) {}

Standby::~Standby() {
  over_ = true;
  woken_->notify_all();
  task_.reset();
  line_.let_go();
}

void Standby::keep_up() {
  constexpr Nanoseconds pause = 100'000'000;
  for (auto ticket = woken_->ticket(); !over_; woken_->wait(ticket, pause), ticket = woken_->ticket()) {
    if (!line_.is_cut()) continue;
    auto line = start(plugins_, run_);
    if (line.ok())
      line_ = *std::move(line);
    else
      host_.log().write(LogLevel::warning, concat("no process stands by for the leader: ", line.status().message()));
  }
}

} // namespace dlhost::run
