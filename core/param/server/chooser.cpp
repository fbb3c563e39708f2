#include "param/server/chooser.h"

#include <algorithm>

namespace dlhost::param {

Chooser::Chooser(Setup setup)
    : setup_(std::move(setup)), groups_(setup_.clients.groups, Group{.in = setup_.clients.workers}) {
  const auto traits = setup_.consistency->traits();
  held_.reserve(groups_.size() + 1);
  own_.resize(traits.own_words + groups_.size() * traits.words_each);
}

void Chooser::begin(const StartPoint& beginning) {
  version_ = beginning.version;
  const auto traits = setup_.consistency->traits();
  std::ranges::fill(own_, 0);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    groups_[group].next = beginning.decided(setup_.clients.first + group, setup_.clients.workers);
    if (traits.words_each > 0) own_[traits.own_words + group * traits.words_each] = groups_[group].next;
  }
}

// Who has left is counted for as long as a contribution of its waits: those that are to come are waited for beside it.
SliceState Chooser::state(std::uint32_t group) {
  std::uint32_t in = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (groups_[g].in > 0 || std::ranges::find(held_, setup_.clients.first + g,
                                               [](const Contribution& one) { return one.who.group; }) != held_.end())
      ++in;
  return {.version = version_,
          .groups = in,
          .contributors = in,
          .expected = setup_.clients.groups,
          .from = group,
          .folded = folded_,
          .held = held_,
          .own = own_};
}

Status Chooser::take(const Message& message) {
  if (message.word == Word::complete) {
    if (message.seat == leading_seat) return complete();
    return Status::corrupt("seat ", message.seat, " wants all to stand still, which the run's leader alone does");
  }
  DLHOST_TRY(contributor(message, setup_.clients).status());
  if (message.word == Word::leave && !setup_.clients.is_led_by(message.seat, message.group))
    return Status::corrupt("seat ", message.seat, " says that group ", message.group,
                           " makes no more steps, which it does not lead");
  const std::uint32_t group = message.group - setup_.clients.first;
  return message.word == Word::leave ? leave(group) : update(group, message);
}

Status Chooser::update(std::uint32_t which, const Message& message) {
  Group& group = groups_[which];
  if (message.step < group.next) return {}; // once more
  group.based_on = group.here == 0 ? message.version : std::min(group.based_on, message.version);
  if (++group.here < setup_.clients.workers) return {};
  group.here = 0;
  group.next = message.step + 1;
  ++arrivals_.came;
  const Contribution arrived{.who = message.identity(), .based_on = group.based_on};
  setup_.activity->enter(setup_.actor, "on_update", message.step);
  SliceState state = this->state(which);
  const UpdateVerdict verdict = setup_.consistency->on_update(state, arrived);
  setup_.activity->leave();
  return decide(&arrived, verdict);
}

Status Chooser::leave(std::uint32_t which) {
  Group& group = groups_[which];
  if (group.in == 0 || --group.in > 0) return {};
  SliceState state = this->state(which);
  if (state.contributors == 0) return {};
  setup_.activity->enter(setup_.actor, "on_member");
  const UpdateVerdict verdict = setup_.consistency->on_member(state);
  setup_.activity->leave();
  return decide(nullptr, verdict);
}

Status Chooser::decide(const Contribution* arrived, const UpdateVerdict& verdict) {
  switch (verdict.act) {
  case UpdateVerdict::Act::hold:
    if (arrived && held_.size() == held_.capacity())
      return Status::internal("the consistency handler holds more steps than there are groups");
    if (arrived) held_.push_back(*arrived);
    return {};
  case UpdateVerdict::Act::apply:
    if (!arrived) return Status::internal("the consistency handler applies alone what there is not");
    return choose({arrived, 1}, verdict);
  case UpdateVerdict::Act::combine: {
    if (arrived) held_.push_back(*arrived);
    Status status = choose(held_, verdict);
    held_.clear();
    return status;
  }
  case UpdateVerdict::Act::drop:
    if (!arrived) return {};
    ++arrivals_.late;
    return tell(*arrived, {.word = Word::dropped});
  case UpdateVerdict::Act::fold:
    if (!arrived) return Status::internal("the consistency handler folds in what there is not");
    if (verdict.late) ++arrivals_.late;
    return fold(*arrived, verdict.weight);
  }
  return {};
}

// To all servers, of each worker of the group.
Status Chooser::tell(const Contribution& of, Message message) {
  message.group = of.who.group;
  message.step = of.who.step;
  for (std::uint32_t rank = 0; rank < setup_.clients.workers; ++rank) {
    message.rank = static_cast<std::uint16_t>(rank);
    DLHOST_TRY(setup_.tell(message));
  }
  return {};
}

Status Chooser::fold(const Contribution& one, float weight) {
  folded_ += weight;
  return tell(one, {.word = Word::folded, .rate = static_cast<double>(weight)});
}

// What waits for others is lost with whoever dies: from where on a group makes its steps once more.
Status Chooser::say_what_is_undecided() {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    Message from{.word = Word::undecided, .step = groups_[group].next};
    from.group = static_cast<std::uint16_t>(setup_.clients.first + group);
    for (const Contribution& held : held_)
      if (held.who.group == from.group) from.step = std::min(from.step, held.who.step);
    DLHOST_TRY(setup_.answer(from));
  }
  return {};
}

// Servers hear of it behind all that was decided.
Status Chooser::complete() {
  if (!setup_.consistency->traits().folds) return say_what_is_undecided();
  SliceState state = this->state(0);
  const float weight = setup_.consistency->weight_at_pause(state);
  for (const Contribution& held : held_) DLHOST_TRY(fold(held, 1));
  held_.clear();
  folded_ = 0;
  return setup_.tell({.word = Word::align, .rate = static_cast<double>(weight)});
}

Status Chooser::choose(std::span<const Contribution> chosen, const UpdateVerdict& verdict) {
  const auto count = static_cast<std::uint32_t>(chosen.size()) * setup_.clients.workers;
  for (const Contribution& one : chosen)
    DLHOST_TRY(tell(one, {.word = Word::chosen,
                          .samples = {0, count},
                          .version = version_,
                          .rate = static_cast<double>(verdict.weight),
                          .factor = verdict.rate_factor}));
  ++version_;
  folded_ = 0;
  return {};
}

} // namespace dlhost::param
