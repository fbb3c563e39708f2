#include "run/coordinator/scaling.h"

#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "record/json_fault.h"

namespace dlhost::run {

Status Scaling::wish(std::string_view job) {
  if (disk_.exists(wish_)) return Status::exists("somebody else has a wish that is not answered yet (", wish_, ")");
  if (disk_.exists(answer_)) DLHOST_TRY(disk_.remove(answer_));
  return disk_.write_text(wish_, job);
}

Result<std::optional<Scaling::Answer>> Scaling::answer() {
  if (!disk_.exists(answer_)) return std::optional<Answer>();
  DLHOST_ASSIGN(const auto text, disk_.read_text(answer_));
  try {
    const auto said = env::parse_json(text);
    return std::optional(Answer{.step = said.at("step"), .refused = said.at("refused")});
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(answer_, " is damaged: ", record::json_fault(error));
  }
}

void Scaling::forget() { disk_.remove(wish_).ignore("it may have been answered just now"); }

Status Scaling::tell(const Answer& answer) {
  const nlohmann::ordered_json said{{"step", answer.step}, {"refused", answer.refused}};
  DLHOST_TRY(disk_.write_text(answer_, env::json_text(said, 2) + "\n"));
  return disk_.remove(wish_);
}

} // namespace dlhost::run
