#include "run/coordinator/steering.h"

#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "record/json_fault.h"

namespace dlhost::run {

Status Steering::wish(const Wish& wish) {
  if (disk_.exists(wish_)) return Status::exists("somebody else has a wish that is not answered yet (", wish_, ")");
  if (disk_.exists(answer_)) DLHOST_TRY(disk_.remove(answer_));
  const nlohmann::json said = wish.kill ? nlohmann::json{{"kill", *wish.kill}} : nlohmann::json{{"stop", true}};
  return disk_.write_text(wish_, env::json_text(said) + "\n");
}

Result<std::optional<Status>> Steering::answer() {
  if (!disk_.exists(answer_)) return std::optional<Status>();
  DLHOST_ASSIGN(const auto text, disk_.read_text(answer_));
  try {
    const auto said = env::parse_json(text);
    const std::string refused = said.at("refused");
    return std::optional(refused.empty() ? Status() : Status::invalid(refused));
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(answer_, " is damaged: ", record::json_fault(error));
  }
}

void Steering::forget() {
  if (disk_.exists(wish_)) disk_.remove(wish_).ignore("it may have been taken just now");
}

std::optional<Steering::Wish> Steering::take() {
  if (!disk_.exists(wish_)) return {};
  const auto text = disk_.read_text(wish_);
  disk_.remove(wish_).ignore("whoever wished it has just given it up");
  const auto said = env::json_or_discarded(text.ok() ? *text : "");
  if (!said.is_object()) return {};
  if (said.contains("stop")) return Wish{};
  const auto kill = said.find("kill");
  if (kill == said.end() || !kill->is_number_unsigned()) return {};
  return Wish{.kill = kill->get<std::uint32_t>()};
}

void Steering::tell(const Status& how) {
  const nlohmann::json said{{"refused", how.ok() ? "" : how.message()}};
  disk_.write_text(answer_, env::json_text(said) + "\n").ignore("whoever waits for it waits no longer");
}

Steered::Steered(Host& host, const std::string& run, Ends ends, Kills kills)
    : steering_(host.disk(), run), ends_(std::move(ends)), kills_(std::move(kills)), woken_(host.tasks().waiter()),
      task_(host.tasks().start("steered", [this] { look(); })) {}

Steered::~Steered() {
  over_ = true;
  woken_->notify_all();
  task_.reset();
}

void Steered::look() {
  constexpr Nanoseconds pause = 200'000'000;
  for (auto ticket = woken_->ticket(); !over_; woken_->wait(ticket, pause), ticket = woken_->ticket())
    if (const auto wish = steering_.take()) steering_.tell(wish->kill ? kills_(*wish->kill) : ends_());
}

} // namespace dlhost::run
