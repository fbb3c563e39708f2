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

// A group that has left counts as long as one of its contributions is held: the version waits for as many
// contributions, this one included.
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

Status Chooser::take(std::uint32_t from, const ToChooser& message) {
  return dispatch(
      message, [&](const to_chooser::Whole& whole) { return update(whole); },
      [&](const to_chooser::Leave& last) { return leave(from, last.worker); },
      [&](const to_chooser::Complete&) { return complete(from); });
}

Status Chooser::update(const to_chooser::Whole& message) {
  DLHOST_TRY(contributor(message.worker, setup_.clients).status());
  const std::uint32_t which = message.worker.group - setup_.clients.first;
  Group& group = groups_[which];
  if (message.step < group.next) return {}; // a repeated message
  group.based_on = group.here == 0 ? message.based_on : std::min(group.based_on, message.based_on);
  if (++group.here < setup_.clients.workers) return {};
  group.here = 0;
  group.next = message.step + 1;
  ++arrivals_.came;
  const Contribution arrived{.who = message.identity(setup_.epoch), .based_on = group.based_on};
  setup_.activity->enter(setup_.actor, "on_update", message.step);
  SliceState state = this->state(which);
  const UpdateVerdict verdict = setup_.consistency->on_update(state, arrived);
  setup_.activity->leave();
  return decide(&arrived, verdict);
}

Status Chooser::leave(std::uint32_t from, WorkerId worker) {
  DLHOST_TRY(contributor(worker, setup_.clients).status());
  if (!setup_.clients.is_led_by(from, worker.group))
    return Status::corrupt("seat ", from, " reports the last step of group ", worker.group, ", which it does not lead");
  const std::uint32_t which = worker.group - setup_.clients.first;
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
    if (!arrived) return Status::internal("the consistency handler applies a contribution that has not arrived");
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
    return tell(*arrived, to_server::Dropped());
  case UpdateVerdict::Act::fold:
    if (!arrived) return Status::internal("the consistency handler folds in a contribution that has not arrived");
    if (verdict.late) ++arrivals_.late;
    return fold(*arrived, verdict.weight);
  }
  return {};
}

template <class Type> Status Chooser::tell(const Contribution& of, Type message) {
  message.step = of.who.step;
  for (std::uint32_t rank = 0; rank < setup_.clients.workers; ++rank) {
    message.worker = {of.who.group, static_cast<std::uint16_t>(rank)};
    DLHOST_TRY(setup_.tell(message));
  }
  return {};
}

Status Chooser::fold(const Contribution& one, float weight) {
  folded_ += weight;
  return tell(one, to_server::Folded{.weight = weight});
}

// Tells the leader from which step on each group repeats its steps if a worker dies: held contributions would be lost.
Status Chooser::say_what_is_undecided() {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    to_worker::Undecided undecided{.group = static_cast<std::uint16_t>(setup_.clients.first + group),
                                   .first = groups_[group].next};
    for (const Contribution& held : held_)
      if (held.who.group == undecided.group) undecided.first = std::min(undecided.first, held.who.step);
    DLHOST_TRY(setup_.answer(undecided));
  }
  return {};
}

// Servers get the align message after all decisions made so far.
Status Chooser::complete(std::uint32_t from) {
  if (from != leading_seat)
    return Status::corrupt("seat ", from, " requests a pause of all workers, which only the run's leader may do");
  if (!setup_.consistency->traits().folds) return say_what_is_undecided();
  SliceState state = this->state(0);
  const float weight = setup_.consistency->weight_at_pause(state);
  for (const Contribution& held : held_) DLHOST_TRY(fold(held, 1));
  held_.clear();
  folded_ = 0;
  return setup_.tell(to_server::Align{.weight = weight});
}

Status Chooser::choose(std::span<const Contribution> chosen, const UpdateVerdict& verdict) {
  const auto count = static_cast<std::uint32_t>(chosen.size()) * setup_.clients.workers;
  for (const Contribution& one : chosen)
    DLHOST_TRY(tell(
        one, to_server::Chosen{
                 .version = version_, .count = count, .rate_factor = verdict.rate_factor, .weight = verdict.weight}));
  ++version_;
  folded_ = 0;
  return {};
}

} // namespace dlhost::param
