#include "cli/run/waiting.h"

#include <utility>

#include "cli/command.h"
#include "env/process/interrupt.h"
#include "env/process/process.h"

namespace dlhost::cli {

Waiting::Waiting(Host& host, std::string what)
    : host_(host), what_(std::move(what)), woken_(host.tasks().waiter()),
      task_(host.tasks().start("waiting", [this] { watch(); })) {}

Waiting::~Waiting() {
  over_ = true;
  woken_->notify_all();
  task_.reset();
}

void Waiting::watch() {
  constexpr Nanoseconds pause = 100'000'000, between_words = 5'000'000'000, second = 1'000'000'000;
  const Nanoseconds begin = host_.clock().now();
  Nanoseconds next = begin + between_words;
  for (auto ticket = woken_->ticket(); !over_; woken_->wait(ticket, pause), ticket = woken_->ticket()) {
    const Nanoseconds now = host_.clock().now(), waited = (now - begin) / second;
    if (env::interrupted()) {
      say(concat("interrupted; it ", what_, ", and had begun nothing"));
      env::end_now(exit_interrupted);
    }
    if (now < next) continue;
    next = now + between_words;
    host_.log().write(LogLevel::warning, concat(what_, " (since ", waited, " s)"));
  }
}

} // namespace dlhost::cli
