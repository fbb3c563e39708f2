// From contributions to a version: which contributions make it, the sums that must be known first, and the update.
#include <algorithm>
#include <cmath>

#include "param/server/data_races.h"
#include "param/server/shard.h"

namespace dlhost::param {

Status Shard::choose(const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.index_of(message));
  if (!is_of_chooser(message) || message.samples.count == 0 || message.samples.count > contributors_.size())
    return Status::corrupt("a message chooses ", message.samples.count,
                           " contributions: only the chooser may, at least one and at most one of each worker");
  Choice& choice = choices_[message.version % choices_.size()];
  if (choice.version != message.version || choice.whole()) choice = {.members = std::move(choice.members)};
  if (choice.count == 0) choice.members.clear();
  choice.version = message.version;
  choice.weight = static_cast<float>(message.rate);
  choice.rate_factor = message.factor;
  choice.count = message.samples.count;
  choice.members.emplace_back(contributor, message.step);
  if (!choice.whole()) return {};
  for (Owned& owned : owned_) DLHOST_TRY(apply_chosen(owned));
  return {};
}

Status Shard::hear_late(const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.index_of(message));
  const bool folds = message.word == Word::folded;
  if (!is_of_chooser(message) || (folds && !(traits_.folds && message.rate > 0)))
    return Status::corrupt("a message reports worker ", message.rank, " of group ", message.group,
                           " as late: only the chooser may, and it may fold only under a handler that folds");
  forgotten_[contributor] = std::max(forgotten_[contributor], message.step + 1);
  late_weights_[contributor] = folds ? static_cast<float>(message.rate) : 0;
  if (ledger_ && !folds) DLHOST_TRY(ledger_->dropped({contributors_.number_of(contributor), message.step}));
  for (Owned& owned : owned_) {
    if (!folds) owned.versions.contain(contributor, forgotten_[contributor]);
    const auto late = std::ranges::find_if(owned.held, [&](const Received& held) {
      return held.contributor == contributor && held.contribution.who.step < forgotten_[contributor];
    });
    if (late != owned.held.end()) {
      if (folds) DLHOST_TRY(fold(owned, *late, late_weights_[contributor]));
      owned.held.erase(late);
    }
    for (Waiting& waiting : owned.waiting)
      if (waiting.contributor == contributor) waiting.at_least = 0; // the version it waits for is made without it
    DLHOST_TRY(answer_waiting(owned));
  }
  return {};
}

// True if the chooser has not decided yet about an update of this worker. Until then a `get` of the worker is not
// answered, even if the version that it asks for exists: after the answer the worker would overwrite the gradient. This
// also bounds the number of held updates when the chooser is slow. False if steps are not chosen.
bool Shard::is_undecided(const Owned& owned, std::size_t contributor) const {
  return traits_.by_step && std::ranges::find(owned.held, contributor, &Received::contributor) != owned.held.end();
}

Status Shard::fold(Owned& owned, const Received& arrived, float weight) {
  if (!owned.folded) return Status::internal("the consistency handler folds, but its traits do not declare it");
  const Contribution& what = arrived.contribution;
  const auto* gradient = reinterpret_cast<const float*>(what.bytes.data());
  if (owned.decoder) {
    owned.decoder->clear();
    Status added = owned.decoder->add(what.bytes, what.who.step);
    if (!added.ok()) return std::move(added).at(named(arrived.contributor, owned));
    DLHOST_ASSIGN(gradient, owned.decoder->sum());
  }
  return owned.folded->add(gradient, weight, contributors_.part_of(arrived), arrived.rate);
}

// Makes the next version once all its chosen updates have arrived. Updates of later versions may have arrived too.
Status Shard::apply_chosen(Owned& owned) {
  const Choice& choice = choices_[owned.versions.newest() % choices_.size()];
  if (!owned.due.empty() || choice.version != owned.versions.newest() || !choice.whole()) return {};
  const auto is_member = [&](const Received& held) {
    return std::ranges::find(choice.members, std::pair(held.contributor, held.contribution.who.step)) !=
           choice.members.end();
  };
  const auto others = std::partition(owned.held.begin(), owned.held.end(), is_member);
  if (static_cast<std::size_t>(others - owned.held.begin()) < choice.count) return {};
  owned.due.assign(owned.held.begin(), others);
  owned.held.erase(owned.held.begin(), others);
  return make(owned, {.weight = choice.weight, .rate_factor = choice.rate_factor});
}

Status Shard::decide(Owned& owned, const Received* arrived, const UpdateVerdict& verdict) {
  const bool makes = verdict.act == UpdateVerdict::Act::apply || verdict.act == UpdateVerdict::Act::combine;
  if (makes && !owned.due.empty())
    return Status::internal("the consistency handler makes a version of slice ", owned.slice->id,
                            " before the one before is made");
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
    if (!arrived) return Status::internal("the consistency handler applies a contribution, but none has arrived");
    owned.due.assign(1, *arrived);
    return make(owned, verdict);
  case UpdateVerdict::Act::combine:
    owned.due.assign(owned.held.begin(), owned.held.end());
    owned.held.clear();
    owned.seen.clear();
    if (arrived) owned.due.push_back(*arrived);
    if (owned.due.empty()) return Status::internal("the consistency handler combines contributions, but none is held");
    return make(owned, verdict);
  case UpdateVerdict::Act::drop:
    ++arrivals_.late;
    return ledger_ && arrived ? ledger_->dropped(owned_by_slice_[owned.slice->id], contributors_.part_of(*arrived))
                              : Status();
  case UpdateVerdict::Act::fold:
    if (!arrived) return Status::internal("the consistency handler folds a contribution, but none has arrived");
    if (verdict.late) ++arrivals_.late;
    return fold(owned, *arrived, verdict.weight);
  }
  return {};
}

Status Shard::make(Owned& owned, const UpdateVerdict& verdict) {
  if (owned.due.size() > contributors_.size())
    return Status::internal("more updates of slice ", owned.slice->id, " make a version than there are workers");
  // In the order of the workers, not of arrival, so that sums have the same bits every time.
  std::ranges::sort(owned.due, {}, &Received::contributor);
  owned.verdict = verdict;
  if (owned.decoder) DLHOST_TRY(decode(owned));
  if (!sums_) return make_of_sum(owned);
  owned.sum = Owned::Sum::waits;
  return sum_up(owned);
}

Status Shard::make_of_sum(Owned& owned) {
  if (norm_) return say_norm(owned);
  return owned.sums ? say_sums(owned) : apply(owned);
}

Status Shard::decode(Owned& owned) {
  owned.decoder->clear();
  for (const Received& due : owned.due) {
    Status added = owned.decoder->add(due.contribution.bytes, due.contribution.who.step);
    if (!added.ok()) return std::move(added).at(named(due.contributor, owned)); // a name allocates
  }
  DLHOST_ASSIGN(owned.decoded, owned.decoder->sum());
  return {};
}

// Sends this server's sum of squares to its peers once all its slices have due contributions.
Status Shard::say_norm(Owned& owned) {
  const auto run = run_of(owned, owned.versions.place());
  DLHOST_ASSIGN(owned.square, update_of(owned, run).squared_norm(run));
  if (++due_ < owned_.size()) return {};
  double sum = 0;
  for (const Owned& one : owned_) sum += one.square;
  const Message norm{.word = Word::norm, .version = norm_->version(), .rate = sum};
  const auto own = std::ranges::find(peers_, setup_.server) - peers_.begin();
  DLHOST_TRY(norm_->put(norm.version, static_cast<std::size_t>(own), 0, sum));
  for (const std::uint32_t peer : peers_)
    if (peer != setup_.server) DLHOST_TRY(setup_.send(setup_.seats[peer], norm));
  return clip();
}

Status Shard::hear_norm(const Message& message) {
  const auto peer = std::ranges::find(peers_, message.seat, [&](std::uint32_t one) { return setup_.seats[one]; });
  if (!norm_ || peer == peers_.end() || *peer == setup_.server)
    return Status::corrupt("a norm from seat ", message.seat, ", which is not expected");
  DLHOST_TRY(norm_->put(message.version, static_cast<std::size_t>(peer - peers_.begin()), 0, message.rate));
  return clip();
}

Status Shard::clip() {
  if (!norm_->whole()) return {};
  const double norm = std::sqrt(norm_->take()[0]), largest = setup_.update_settings.clip_norm;
  last_norm_ = norm;
  due_ = 0;
  for (Owned& owned : owned_) {
    if (norm > largest) owned.verdict.weight *= static_cast<float>(largest / norm);
    DLHOST_TRY(owned.sums ? say_sums(owned) : apply(owned));
  }
  return {};
}

Status Shard::say_sums(Owned& owned) {
  setup_.activity->enter(setup_.updater_actor, "partials", owned.due.front().contribution.who.step);
  const auto run = run_of(owned, owned.versions.place());
  const auto made = update_of(owned, run).partials(run);
  setup_.activity->leave();
  DLHOST_ASSIGN(const auto partials, made);
  Message message{.word = Word::sums, .slice = owned.slice->id, .version = owned.sums->version()};
  const auto pieces = setup_.slices->of(owned.slice->param);
  for (message.place = 0; message.place < partials.size(); ++message.place) {
    message.rate = partials[message.place];
    DLHOST_TRY(owned.sums->put(message.version, owned.slice->id - pieces.front().id, message.place, message.rate));
    for (const Slice& piece : pieces)
      if (piece.server != setup_.server) DLHOST_TRY(setup_.send(setup_.seats[piece.server], message));
  }
  return apply_summed(owned);
}

Status Shard::hear_sums(const Message& message) {
  if (message.slice >= setup_.slices->size()) return Status::corrupt("slice ", message.slice, ", which does not exist");
  const auto pieces = setup_.slices->of((*setup_.slices)[message.slice].param);
  const auto own = std::ranges::find(pieces, setup_.server, &Slice::server);
  if (own == pieces.end() || own->id == message.slice ||
      setup_.seats[(*setup_.slices)[message.slice].server] != message.seat)
    return Status::corrupt("sums of slice ", message.slice, " from seat ", message.seat, ", which are not expected");
  Owned& owned = owned_[owned_by_slice_[own->id]];
  if (!owned.sums) return Status::corrupt("sums of slice ", message.slice, ", but the updater needs none");
  DLHOST_TRY(owned.sums->put(message.version, message.slice - pieces.front().id, message.place, message.rate));
  return apply_summed(owned);
}

Status Shard::apply_summed(Owned& owned) { return owned.sums->whole() ? apply(owned, owned.sums->take()) : Status(); }

// The gradients of the next version: the sum over all groups; or the due contributions, decoded if they are encoded,
// and the sum of the folded ones.
std::span<const float* const> Shard::gradients_of(const Owned& owned) {
  std::size_t count = 0;
  if (owned.sum == Owned::Sum::whole) {
    gradients_[count++] = sums_->sum(owned_by_slice_[owned.slice->id]);
    return std::span(gradients_).first(count);
  }
  if (owned.decoder && !owned.due.empty()) gradients_[count++] = owned.decoded;
  for (const Received& due : owned.due)
    if (!owned.decoder) gradients_[count++] = reinterpret_cast<const float*>(due.contribution.bytes.data());
  if (owned.folded && !owned.folded->empty()) gradients_[count++] = owned.folded->sum();
  return std::span(gradients_).first(count);
}

SliceUpdate::Run Shard::run_of(const Owned& owned, std::size_t next) {
  const double rate = owned.due.empty() ? owned.folded->rate() : owned.due.back().rate;
  return {.from = owned.versions.value(),
          .to = owned.versions.value(next),
          .history = owned.versions.history(),
          .new_history = owned.versions.next_history(),
          .gradients = gradients_of(owned),
          .count = owned.versions.newest() + 1,
          .rate = rate * static_cast<double>(owned.verdict.rate_factor),
          .weight = owned.verdict.weight};
}

SliceUpdate& Shard::update_of(const Owned& owned, const SliceUpdate::Run& run) {
  return *owned.updates[run.gradients.size() - 1];
}

// The due and the folded contributions, for the ledger.
std::span<const Ledger::Part> Shard::parts_of(const Owned& owned) {
  parts_.clear();
  for (const Received& due : owned.due) parts_.push_back(contributors_.part_of(due));
  if (owned.folded) {
    parts_.insert(parts_.end(), owned.folded->parts().begin(), owned.folded->parts().end());
    std::ranges::sort(parts_);
  }
  return parts_;
}

// Computes a new value from the due and the folded contributions.
Status Shard::write(Owned& owned, std::span<const double> sums) {
  std::size_t next = owned.versions.place();
  if (!owned.verdict.in_place) {
    DLHOST_ASSIGN(next, owned.versions.room());
  }
  const auto run = run_of(owned, next);
  const IgnoreDataRaces racing(owned.verdict.in_place);
  setup_.activity->enter(setup_.updater_actor, "update",
                         owned.due.empty() ? owned.folded->parts().back().step
                                           : owned.due.front().contribution.who.step);
  const auto updated = [&]() -> Status {
    if (owned.factored) return owned.factored->run(run);
    SliceUpdate& update = update_of(owned, run);
    if (owned.sums) return update.run(run, sums);
    DLHOST_ASSIGN(const auto own, update.partials(run)); // the param is not cut: its sums are those of the slice
    return update.run(run, own);
  };
  Status status = updated();
  setup_.activity->leave();
  owned.versions.moved(next, run.new_history);
  return status;
}

void Shard::publish(Owned& owned) {
  owned.versions.publish(sync_ ? sync_->heard(owned_by_slice_[owned.slice->id]) : 0);
}

// The ledger is written first: groups that receive the changes may outlive this server.
Status Shard::publish_learned(Owned& owned, Version version, std::uint64_t place) {
  if (ledger_) DLHOST_TRY(ledger_->flush(owned_by_slice_[owned.slice->id]));
  owned.versions.publish_changes(version, place);
  return {};
}

void Shard::count_in(Owned& owned) {
  for (const Received& due : owned.due) owned.versions.contain(due.contributor, due.step() + 1);
  owned.due.clear();
  owned.sum = Owned::Sum::none;
  if (!owned.folded) return;
  for (const Ledger::Part& part : owned.folded->parts())
    owned.versions.contain(contributors_.index_of(part.contributor), part.step + 1);
  owned.folded->clear();
}

// Ledger and published state are complete before a worker or a group learns of the version.
Status Shard::apply(Owned& owned, std::span<const double> sums) {
  DLHOST_TRY(write(owned, sums));
  if (ledger_) DLHOST_TRY(ledger_->made(owned_by_slice_[owned.slice->id], parts_of(owned)));
  count_in(owned);
  owned.versions.advance();
  publish(owned);
  if (sync_) DLHOST_TRY(exchange(owned));
  DLHOST_TRY(answer_waiting(owned));
  DLHOST_TRY(answer_settled(owned));
  return traits_.by_step ? apply_chosen(owned) : Status();
}

// The version number stays, so that no contribution becomes late by it.
Status Shard::amend(Owned& owned, float weight) {
  owned.verdict = {.weight = weight};
  DLHOST_TRY(write(owned, {}));
  if (ledger_) DLHOST_TRY(ledger_->amended(owned_by_slice_[owned.slice->id], parts_of(owned)));
  count_in(owned);
  if (sync_) sync_->amended(owned_by_slice_[owned.slice->id]);
  publish(owned);
  return {};
}

} // namespace dlhost::param
