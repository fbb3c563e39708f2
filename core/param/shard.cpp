#include "param/shard.h"

#include <algorithm>
#include <functional>

#include "param/racing.h"

namespace dlhost::param {
namespace {

constexpr std::size_t not_owned = ~std::size_t{0};
constexpr std::size_t choices_ahead = 64; // of the slice that is furthest behind

} // namespace

Shard::Shard(ShardSetup setup)
    : setup_(std::move(setup)), in_(setup_.contributors.size(), true), by_step_(setup_.consistency->traits().by_step),
      choices_(by_step_ ? choices_ahead : 0), forgotten_(in_.size()) {
  for (Choice& choice : choices_) choice.members.reserve(in_.size());
}

Result<std::unique_ptr<Shard>> Shard::make(ShardSetup setup) {
  std::unique_ptr<Shard> shard(new Shard(std::move(setup)));
  const auto rule = shard->setup_.updater->rule();
  shard->owned_by_slice_.assign(shard->setup_.slices->size(), not_owned);
  for (const Slice& slice : shard->setup_.slices->all())
    if (slice.server == shard->setup_.server) DLHOST_TRY(shard->own(slice, rule));
  shard->gradients_.resize(shard->setup_.contributors.size());
  return shard;
}

Status Shard::own(const Slice& slice, const Updater::Rule& rule) {
  const std::size_t contributors = setup_.contributors.size();
  owned_by_slice_[slice.id] = owned_.size();
  Owned owned{.slice = &slice};
  // Of a worker that is late, one contribution may be here that is not yet known to be, beside its next.
  owned.held.reserve(by_step_ ? 2 * contributors : contributors);
  owned.seen.reserve(contributors);
  owned.waiting.reserve(contributors);
  const auto traits = setup_.consistency->traits();
  owned.own.resize(traits.own_words + contributors * traits.words_each);
  owned.accepted.resize(contributors);
  owned.read.assign(contributors, owned.current);
  Param& param = *setup_.store->params()[slice.param];
  for (std::size_t gradients = 1; gradients <= contributors; ++gradients) {
    DLHOST_ASSIGN(auto update, SliceUpdate::prepare(*setup_.store, param, slice, gradients, *setup_.updater, rule,
                                                    setup_.update_settings));
    owned.updates.push_back(std::move(update));
  }
  owned_.push_back(std::move(owned));
  return {};
}

void Shard::begin(const Beginning& beginning) {
  for (auto& owned : owned_) {
    owned.version = beginning.version;
    owned.current = 0;
    std::ranges::fill(owned.read, owned.current); // before they ask for anything
    for (std::size_t c = 0; c < owned.accepted.size(); ++c)
      owned.accepted[c] = beginning.steps.at(setup_.contributors[c].group);
  }
}

SliceState Shard::state(Owned& owned, std::size_t contributor) const {
  return {.slice = owned.slice->id,
          .version = owned.version,
          .groups = setup_.groups,
          .contributors = static_cast<std::uint32_t>(std::ranges::count(in_, true)),
          .expected = static_cast<std::uint32_t>(setup_.contributors.size()),
          .from = static_cast<std::uint32_t>(contributor),
          .held = owned.seen,
          .own = owned.own};
}

Result<std::size_t> Shard::contributor(const Message& message) const {
  return param::contributor(message, setup_.groups,
                            static_cast<std::uint32_t>(setup_.contributors.size() / setup_.groups));
}

Status Shard::take(const Message& message) {
  if (message.word == Word::leave) {
    DLHOST_ASSIGN(const std::size_t contributor, this->contributor(message));
    return by_step_ ? Status() : leave(contributor);
  }
  if (message.word == Word::chosen) return choose(message);
  if (message.word == Word::dropped) return drop(message);
  if (message.slice >= owned_by_slice_.size() || owned_by_slice_[message.slice] == not_owned)
    return Status::corrupt("server ", setup_.server, " was asked for slice ", message.slice, ", which it does not own");
  if (message.epoch != setup_.epoch) { // of a process that was given up since
    ++stale_;
    return {};
  }
  Owned& owned = owned_[owned_by_slice_[message.slice]];
  switch (message.word) {
  case Word::update: return update(owned, message);
  case Word::get: return get(owned, message);
  case Word::settle: {
    DLHOST_ASSIGN(const std::size_t contributor, this->contributor(message));
    return answer(owned, contributor, Word::settled);
  }
  default: {
    DLHOST_ASSIGN(const std::size_t contributor, this->contributor(message));
    owned.read[contributor] = owned.current;
    return answer(owned, contributor, Word::seen);
  }
  }
}

Status Shard::update(Owned& owned, const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, this->contributor(message));
  if (message.step < owned.accepted[contributor]) {
    ++repeated_;
    return {};
  }
  const auto bytes = static_cast<std::size_t>(owned.slice->count) * sizeof(float);
  const auto memory = setup_.contributors[contributor].gradients;
  if (bytes > memory.size() || message.place > memory.size() - bytes || message.place % sizeof(float) != 0)
    return Status::corrupt("worker ", message.rank, " of group ", message.group, " has its part of slice ",
                           message.slice, " at ", message.place, ", outside of its memory of ", memory.size(),
                           " bytes");
  owned.accepted[contributor] = message.step + 1;
  const Arrival arrived{.contribution = {.kind = message.contribution,
                                         .who = message.identity(),
                                         .based_on = message.version,
                                         .elements = owned.slice->count,
                                         .bytes = memory.subspan(message.place, bytes)},
                        .contributor = contributor,
                        .rate = message.rate};
  if (by_step_) {
    if (message.step < forgotten_[contributor]) return {};
    if (owned.held.size() == owned.held.capacity())
      return Status::internal("more updates of slice ", message.slice, " wait than workers could send");
    owned.held.push_back(arrived);
    return apply_chosen(owned);
  }
  setup_.activity->enter(setup_.consistency_actor, "on_update", message.step);
  SliceState state = this->state(owned, contributor);
  const UpdateVerdict verdict = setup_.consistency->on_update(state, arrived.contribution);
  setup_.activity->leave();
  return decide(owned, &arrived, verdict);
}

// What others wait for may be whole without it.
Status Shard::leave(std::size_t contributor) {
  in_[contributor] = false;
  if (std::ranges::none_of(in_, std::identity())) return {};
  for (Owned& owned : owned_) {
    setup_.activity->enter(setup_.consistency_actor, "on_member");
    SliceState state = this->state(owned, contributor);
    const UpdateVerdict verdict = setup_.consistency->on_member(state);
    setup_.activity->leave();
    DLHOST_TRY(decide(owned, nullptr, verdict));
    DLHOST_TRY(answer_waiting(owned));
  }
  return {};
}

Status Shard::choose(const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, this->contributor(message));
  if (!by_step_ || message.samples.count == 0 || message.samples.count > in_.size())
    return Status::corrupt("a choice of ", message.samples.count, " contributions, which cannot be");
  Choice& choice = choices_[message.version % choices_.size()];
  if (choice.version != message.version || choice.whole()) choice = {.members = std::move(choice.members)};
  if (choice.count == 0) choice.members.clear();
  choice.version = message.version;
  choice.weight = static_cast<float>(message.rate);
  choice.count = message.samples.count;
  choice.members.emplace_back(contributor, message.step);
  if (!choice.whole()) return {};
  for (Owned& owned : owned_) DLHOST_TRY(apply_chosen(owned));
  return {};
}

Status Shard::drop(const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, this->contributor(message));
  forgotten_[contributor] = std::max(forgotten_[contributor], message.step + 1);
  for (Owned& owned : owned_) {
    std::erase_if(owned.held, [&](const Arrival& held) {
      return held.contributor == contributor && held.contribution.who.step < forgotten_[contributor];
    });
    for (Waiting& waiting : owned.waiting)
      if (waiting.contributor == contributor) waiting.at_least = 0;
    DLHOST_TRY(answer_waiting(owned));
  }
  return {};
}

// All that are chosen have to be here. Those of the next version may be, too.
Status Shard::apply_chosen(Owned& owned) {
  while (true) {
    const Choice& choice = choices_[owned.version % choices_.size()];
    if (choice.version != owned.version || !choice.whole()) return {};
    const auto is_member = [&](const Arrival& held) {
      return std::ranges::find(choice.members, std::pair(held.contributor, held.contribution.who.step)) !=
             choice.members.end();
    };
    const auto others = std::partition(owned.held.begin(), owned.held.end(), is_member);
    const auto here = static_cast<std::size_t>(others - owned.held.begin());
    if (here < choice.count) return {};
    const std::span members(owned.held.data(), here);
    std::ranges::sort(members, {}, &Arrival::contributor);
    DLHOST_TRY(apply(owned, members, {.weight = choice.weight}));
    owned.held.erase(owned.held.begin(), owned.held.begin() + static_cast<std::ptrdiff_t>(here));
  }
}

Status Shard::decide(Owned& owned, const Arrival* arrived, const UpdateVerdict& verdict) {
  switch (verdict.act) {
  case UpdateVerdict::Act::hold:
    if (!arrived) return {};
    if (owned.held.size() == owned.held.capacity())
      return Status::internal("the consistency handler holds more updates of slice ", owned.slice->id,
                              " than there are workers");
    owned.held.push_back(*arrived);
    owned.seen.push_back(arrived->contribution);
    return {};
  case UpdateVerdict::Act::apply:
    if (!arrived) return Status::internal("the consistency handler applies alone what there is not");
    return apply(owned, {arrived, 1}, verdict);
  case UpdateVerdict::Act::combine: {
    if (arrived) owned.held.push_back(*arrived);
    if (owned.held.empty()) return Status::internal("the consistency handler combines what there is not");
    // In the order of the workers, whoever was first: sums have the same bits every time.
    std::ranges::sort(owned.held, {}, &Arrival::contributor);
    const Status status = apply(owned, owned.held, verdict);
    owned.held.clear();
    owned.seen.clear();
    return status;
  }
  case UpdateVerdict::Act::drop: return {};
  }
  return {};
}

float* Shard::value(const Owned& owned, std::size_t which) const {
  return reinterpret_cast<float*>(setup_.masters->value(owned.slice->param, which).data()) + owned.slice->first;
}

// A place for a new value that nobody reads. There are two more than readers.
Result<std::size_t> Shard::room(const Owned& owned) const {
  for (std::size_t which = 0; which < setup_.masters->versions(); ++which)
    if (which != owned.current && std::ranges::find(owned.read, which) == owned.read.end()) return which;
  return Status::internal("no place is left for a new version of slice ", owned.slice->id);
}

Status Shard::apply(Owned& owned, std::span<const Arrival> chosen, const UpdateVerdict& verdict) {
  for (std::size_t c = 0; c < chosen.size(); ++c)
    gradients_[c] = reinterpret_cast<const float*>(chosen[c].contribution.bytes.data());
  std::size_t next = owned.current;
  if (setup_.masters->versions() > 1 && !verdict.in_place) {
    DLHOST_ASSIGN(next, room(owned));
  }
  const Racing racing(verdict.in_place);
  setup_.activity->enter(setup_.updater_actor, "update", chosen.front().contribution.who.step);
  Status status = owned.updates.at(chosen.size() - 1)
                      ->run({.from = value(owned, owned.current),
                             .to = value(owned, next),
                             .gradients = std::span(gradients_).first(chosen.size()),
                             .count = owned.version + 1,
                             .rate = chosen.back().rate * static_cast<double>(verdict.rate_factor),
                             .weight = verdict.weight});
  setup_.activity->leave();
  DLHOST_TRY(std::move(status));
  owned.current = next;
  ++owned.version;
  return answer_waiting(owned);
}

// Who asks has done with what it read before.
Status Shard::get(Owned& owned, const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, this->contributor(message));
  if (std::ranges::find(owned.waiting, contributor, &Waiting::contributor) != owned.waiting.end())
    return Status::corrupt("worker ", message.rank, " of group ", message.group, " asks twice for slice ",
                           message.slice);
  owned.read[contributor] = nothing;
  // Whose step was dropped is not to wait for what it has no part in: perhaps nobody else makes it.
  const bool dropped = by_step_ && message.step < forgotten_[contributor];
  owned.waiting.push_back({contributor, dropped ? 0 : message.version});
  return answer_waiting(owned);
}

Status Shard::answer_waiting(Owned& owned) {
  for (std::size_t w = 0; w < owned.waiting.size();) {
    const Waiting waiting = owned.waiting[w];
    const Contributor& asks = setup_.contributors[waiting.contributor];
    setup_.activity->enter(setup_.consistency_actor, "on_get");
    const auto verdict =
        setup_.consistency->on_get(state(owned, waiting.contributor), asks.group, asks.rank, waiting.at_least);
    setup_.activity->leave();
    if (verdict == GetVerdict::wait) {
      ++w;
      continue;
    }
    owned.waiting.erase(owned.waiting.begin() + static_cast<std::ptrdiff_t>(w));
    owned.read[waiting.contributor] = owned.current;
    DLHOST_TRY(answer(owned, waiting.contributor, Word::value));
  }
  return {};
}

Status Shard::answer(Owned& owned, std::size_t contributor, Word word) {
  const Contributor& asks = setup_.contributors[contributor];
  return setup_.answer(asks.seat, {.word = word,
                                   .epoch = setup_.epoch,
                                   .slice = owned.slice->id,
                                   .group = asks.group,
                                   .rank = asks.rank,
                                   .version = owned.version,
                                   .place = owned.current});
}

} // namespace dlhost::param
