#include "param/server/slice_decisions.h"

#include <algorithm>

namespace dlhost::param {

SliceDecisions::SliceDecisions(const Setup& setup)
    : setup_(setup), traits_(setup.handler.consistency->traits()), maker_(*setup.maker) {
  const std::size_t contributors = setup.versions->contributors().size();
  held_.reserve(contributors);
  seen_.reserve(contributors);
  words_.resize(traits_.own_words + contributors * traits_.words_each);
  arrived_.resize(setup.versions->contributors().all().size());
}

void SliceDecisions::begin(std::span<const std::uint64_t> steps) {
  std::ranges::copy(steps, arrived_.begin());
  std::ranges::fill(words_, 0);
  const auto indices = setup_.versions->contributors().indices();
  for (std::size_t c = 0; traits_.words_each > 0 && c < indices.size(); ++c)
    words_[traits_.own_words + c * traits_.words_each] = arrived_[indices[c]];
  setup_.activity->enter(setup_.handler.actor, "on_put");
  SliceState state = this->state(first());
  setup_.handler.consistency->on_put(state);
  setup_.activity->leave();
}

SliceState SliceDecisions::state(std::size_t contributor) {
  const SliceContributors& contributors = setup_.versions->contributors();
  return {.slice = setup_.versions->slice().id,
          .version = setup_.versions->newest(),
          .groups = contributors.all().groups(),
          .contributors = contributors.makers(),
          .expected = static_cast<std::uint32_t>(contributors.size()),
          .from = static_cast<std::uint32_t>(contributors.place_of(contributor)),
          .folded = maker_.folded_weight(),
          .held = seen_,
          .own = words_};
}

Result<SliceDecisions::Outcome> SliceDecisions::take(const Received& received) {
  const std::size_t contributor = received.contributor;
  arrived_[contributor] = received.step() + 1;
  if (setup_.choices) {
    if (setup_.choices->is_late(contributor, received.step())) { // the chooser decided before it arrived
      const float weight = setup_.choices->late_weight(contributor);
      if (weight > 0) DLHOST_TRY(maker_.fold(received, weight));
      return Outcome::waits;
    }
    if (held_.size() == held_.capacity())
      return Status::internal("more updates of slice ", setup_.versions->slice().id, " wait than workers could send");
    held_.push_back(received);
    return take_chosen();
  }
  if (traits_.may_drop || traits_.folds) ++setup_.arrivals->came; // counted only if contributions can be late
  setup_.activity->enter(setup_.handler.actor, "on_update", received.step());
  SliceState state = this->state(contributor);
  const UpdateVerdict verdict = setup_.handler.consistency->on_update(state, received.contribution);
  setup_.activity->leave();
  return decide(&received, verdict);
}

Result<SliceDecisions::Outcome> SliceDecisions::leave(std::size_t contributor) {
  const SliceContributors& contributors = setup_.versions->contributors();
  if (!contributors.has(contributor) || contributors.makers() == 0) return Outcome::waits;
  setup_.activity->enter(setup_.handler.actor, "on_member");
  SliceState state = this->state(contributor);
  const UpdateVerdict verdict = setup_.handler.consistency->on_member(state);
  setup_.activity->leave();
  return decide(nullptr, verdict);
}

Result<SliceDecisions::Outcome> SliceDecisions::decide(const Received* arrived, const UpdateVerdict& verdict) {
  const bool makes = verdict.act == UpdateVerdict::Act::apply || verdict.act == UpdateVerdict::Act::combine;
  if (makes && maker_.is_due())
    return Status::internal("the consistency handler makes a version of slice ", setup_.versions->slice().id,
                            " before the one before is made");
  switch (verdict.act) {
  case UpdateVerdict::Act::hold:
    if (!arrived) return Outcome::waits;
    if (held_.size() == held_.capacity())
      return Status::internal("the consistency handler holds more updates of slice ", setup_.versions->slice().id,
                              " than there are workers");
    held_.push_back(*arrived);
    seen_.push_back(arrived->contribution);
    return Outcome::waits;
  case UpdateVerdict::Act::apply:
    if (!arrived) return Status::internal("the consistency handler applies a contribution, but none has arrived");
    DLHOST_TRY(maker_.make_due({}, arrived, verdict));
    return Outcome::due;
  case UpdateVerdict::Act::combine:
    if (held_.empty() && !arrived)
      return Status::internal("the consistency handler combines contributions, but none is held");
    DLHOST_TRY(maker_.make_due(held_, arrived, verdict));
    held_.clear();
    seen_.clear();
    return Outcome::due;
  case UpdateVerdict::Act::drop: ++setup_.arrivals->late; return Outcome::dropped;
  case UpdateVerdict::Act::fold:
    if (!arrived) return Status::internal("the consistency handler folds a contribution, but none has arrived");
    if (verdict.late) ++setup_.arrivals->late;
    DLHOST_TRY(maker_.fold(*arrived, verdict.weight));
    return Outcome::waits;
  }
  return Outcome::waits;
}

Result<SliceDecisions::Outcome> SliceDecisions::take_chosen() {
  const StepChoices::Choice* choice = setup_.choices->of(setup_.versions->newest());
  if (maker_.is_due() || !choice) return Outcome::waits;
  const auto others =
      std::partition(held_.begin(), held_.end(), [&](const Received& held) { return choice->has(held); });
  if (static_cast<std::size_t>(others - held_.begin()) < choice->count) return Outcome::waits;
  DLHOST_TRY(maker_.make_due({held_.begin(), others}, nullptr, choice->verdict()));
  held_.erase(held_.begin(), others);
  return Outcome::due;
}

Status SliceDecisions::take_late(std::size_t contributor, bool folds) {
  const auto late = std::ranges::find_if(held_, [&](const Received& held) {
    return held.contributor == contributor && setup_.choices->is_late(contributor, held.step());
  });
  if (late == held_.end()) return {};
  if (folds) DLHOST_TRY(maker_.fold(*late, setup_.choices->late_weight(contributor)));
  held_.erase(late);
  return {};
}

GetVerdict SliceDecisions::on_get(std::size_t contributor, Version at_least) {
  const Contributor& asks = setup_.versions->contributors().all()[contributor];
  setup_.activity->enter(setup_.handler.actor, "on_get");
  const auto verdict = setup_.handler.consistency->on_get(state(contributor), asks.group, asks.rank, at_least);
  setup_.activity->leave();
  return verdict;
}

bool SliceDecisions::is_undecided(std::size_t contributor) const {
  return setup_.choices && std::ranges::find(held_, contributor, &Received::contributor) != held_.end();
}

} // namespace dlhost::param
