#include "param/server/step_choices.h"

#include <algorithm>

namespace dlhost::param {

StepChoices::StepChoices(std::size_t contributors)
    : choices_(ahead), forgotten_(contributors), late_weights_(contributors) {
  for (Choice& choice : choices_) choice.members.reserve(contributors);
}

bool StepChoices::Choice::has(const Received& received) const {
  return std::ranges::find(members, std::pair(received.contributor, received.step())) != members.end();
}

Result<bool> StepChoices::choose(const to_server::Chosen& message, std::size_t contributor) {
  if (message.count == 0 || message.count > forgotten_.size())
    return Status::corrupt("the chooser chooses ", message.count,
                           " contributions: it is at least one and at most one of each worker");
  Choice& choice = choices_[message.version % choices_.size()];
  if (choice.version != message.version || choice.is_whole()) choice = {.members = std::move(choice.members)};
  if (choice.count == 0) choice.members.clear();
  choice.version = message.version;
  choice.weight = message.weight;
  choice.rate_factor = message.rate_factor;
  choice.count = message.count;
  choice.members.emplace_back(contributor, message.step);
  return choice.is_whole();
}

const StepChoices::Choice* StepChoices::of(Version version) const {
  const Choice& choice = choices_[version % choices_.size()];
  return choice.version == version && choice.is_whole() ? &choice : nullptr;
}

void StepChoices::forget(std::size_t contributor, std::uint64_t steps) {
  forgotten_[contributor] = std::max(forgotten_[contributor], steps);
}

void StepChoices::forget(std::size_t contributor, std::uint64_t steps, float weight) {
  forget(contributor, steps);
  late_weights_[contributor] = weight;
}

} // namespace dlhost::param
