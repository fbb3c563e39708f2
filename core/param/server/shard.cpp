#include "param/server/shard.h"

#include <algorithm>

namespace dlhost::param {
namespace {

constexpr std::size_t not_owned = ~std::size_t{0};
constexpr std::size_t choices_ahead = 64; // of the slice with the lowest version

} // namespace

Shard::Shard(ShardSetup setup)
    : setup_(std::move(setup)), contributors_(std::move(setup_.contributors), setup_.groups),
      traits_(setup_.handlers.job.consistency->traits()),
      kind_(setup_.handlers.job.consistency->plan(0, 0).send_delta ? ContributionKind::delta : ContributionKind::dense),
      choices_(traits_.by_step ? choices_ahead : 0), forgotten_(contributors_.size()),
      late_weights_(contributors_.size()) {
  for (Choice& choice : choices_) choice.members.reserve(contributors_.size());
  if (!setup_.published.empty()) published_.emplace(setup_.published, contributors_.size());
  if (kind_ == ContributionKind::delta) {
    setup_.updater = &addition_;
    setup_.update_settings = {};
  }
}

Result<std::unique_ptr<Shard>> Shard::make(ShardSetup setup) {
  std::unique_ptr<Shard> shard(new Shard(std::move(setup)));
  const auto rule = shard->setup_.updater->rule();
  shard->owned_by_slice_.assign(shard->setup_.slices->size(), not_owned);
  for (const Slice& slice : shard->setup_.slices->all())
    if (slice.server == shard->setup_.server) DLHOST_TRY(shard->own(slice, rule));
  DLHOST_TRY(shard->make_room());
  if (shard->setup_.update_settings.clip_norm > 0 && !shard->owned_.empty())
    shard->norm_.emplace(GradientNorm::Setup{.server = shard->setup_.server,
                                             .slices = shard->setup_.slices->all(),
                                             .seats = shard->setup_.seats,
                                             .largest = shard->setup_.update_settings.clip_norm,
                                             .send = &shard->setup_.send});
  DLHOST_TRY(shard->make_sync());
  return shard;
}

Status Shard::make_sync() {
  if (!setup_.sync) return {};
  std::vector<const Slice*> owned;
  for (const Owned& one : owned_) owned.push_back(one.slice);
  if (sums_gradients()) {
    DLHOST_ASSIGN(sums_, GradientSums::make(setup_.sync->neighbours, *setup_.store, owned, contributors_.size()));
  } else {
    if (setup_.sync->mends && !setup_.versions_outlive)
      setup_.sync->publish = [this](std::size_t which, Version version, std::uint64_t place) {
        return publish_learned(owned_[which], version, place);
      };
    DLHOST_ASSIGN(sync_, GroupSync::make(*setup_.sync, owned));
  }
  return {};
}

Status Shard::own(const Slice& slice, const Updater::Rule& rule) {
  const std::size_t contributors = contributors_.size();
  owned_by_slice_[slice.id] = owned_.size();
  const Handler& handler = setup_.handlers.of(slice.param);
  Owned& owned = owned_.emplace_back(SliceVersions::Setup{.slice = &slice,
                                                          .param = setup_.store->params()[slice.param].get(),
                                                          .masters = setup_.masters,
                                                          .contributors = contributors,
                                                          .machines = contributors_.machines(),
                                                          .surviving = published_ ? &*published_ : nullptr,
                                                          .each_outlives = setup_.versions_outlive});
  owned.handler = &handler;
  owned.traits = handler.consistency->traits();
  owned.held.reserve(contributors);
  owned.seen.reserve(contributors);
  owned.waiting.reserve(contributors);
  owned.asked.reserve(3 * contributors); // of each: a look, a settle at the end of a step, a settle before a pause
  owned.own.resize(owned.traits.own_words + contributors * owned.traits.words_each);
  owned.accepted.resize(contributors);
  DLHOST_ASSIGN(owned.maker, VersionMaker::make({.versions = &owned.versions,
                                                 .contributors = &contributors_,
                                                 .store = setup_.store,
                                                 .masters = setup_.masters,
                                                 .slices = setup_.slices,
                                                 .kind = kind_,
                                                 .codec = setup_.codec,
                                                 .folds = owned.traits.folds,
                                                 .one_sum = sums_gradients(),
                                                 .updater = setup_.updater,
                                                 .rule = &rule,
                                                 .actor = setup_.updater_actor,
                                                 .settings = setup_.update_settings,
                                                 .activity = setup_.activity}));
  if (const std::size_t sums = owned.maker->sums_over_slices(); sums > 0)
    owned.sums.emplace(ParamSums::Setup{.slice = &slice,
                                        .pieces = setup_.slices->of(slice.param),
                                        .seats = setup_.seats,
                                        .sums = sums,
                                        .send = &setup_.send});
  return {};
}

// All slices use the same scratch memory, because one is updated at a time.
Status Shard::make_room() {
  std::size_t most = 0;
  for (const Owned& owned : owned_) most = std::max(most, owned.maker->room());
  if (most == 0) return {};
  DLHOST_ASSIGN(room_, Memory::make(setup_.store->device(), most));
  for (Owned& owned : owned_) owned.maker->work_in({room_.data(), room_.size()});
  return {};
}

void Shard::begin(const StartPoint& beginning) {
  if (norm_) norm_->begin(beginning.version);
  if (sync_) sync_->begin(beginning);
  if (sums_) sums_->begin();
  for (auto& owned : owned_) {
    const Version version = beginning.version_of(owned.slice->id);
    owned.exchanged = owned.aligns = false;
    owned.maker->forget_sum();
    if (owned.sums) owned.sums->begin(version);
    const auto& steps = beginning.steps_of(owned.slice->id);
    for (std::size_t c = 0; c < owned.accepted.size(); ++c) owned.accepted[c] = steps.at(contributors_.number_of(c));
    owned.versions.begin(version, owned.accepted);
    // A worker whose step is in the start values must not wait for a version that is made without it.
    for (std::size_t c = 0; traits_.by_step && c < forgotten_.size(); ++c)
      forgotten_[c] = std::max(forgotten_[c], owned.accepted[c]);
    std::ranges::fill(owned.own, 0);
    for (std::size_t c = 0; owned.traits.words_each > 0 && c < owned.accepted.size(); ++c)
      owned.own[owned.traits.own_words + c * owned.traits.words_each] = owned.accepted[c];
    put(owned);
  }
}

void Shard::put(Owned& owned) {
  setup_.activity->enter(owned.handler->actor, "on_put");
  SliceState state = this->state(owned, 0);
  owned.handler->consistency->on_put(state);
  setup_.activity->leave();
  owned.versions.unpublish();
  if (!sync_ || !sync_->is_joining()) publish(owned);
}

Status Shard::keep_ledger(std::unique_ptr<LogFile> file, std::uint32_t server, const StartPoint& beginning,
                          std::string_view before) {
  std::vector<Ledger::Owned> slices;
  for (const Owned& owned : owned_)
    slices.push_back({owned.slice, setup_.store->params()[owned.slice->param]->declared.name});
  parts_.reserve(Ledger::most_parts(contributors_.size()));
  ledger_.emplace(
      std::move(file), std::move(slices), beginning.steps.size(),
      Ledger::Keeping{.server = server, .at_once = published_ && setup_.versions_outlive, .summed = setup_.alike});
  if (sync_) sync_->keep(&*ledger_);
  return ledger_->begin(beginning, before);
}

SliceState Shard::state(Owned& owned, std::size_t contributor) const {
  return {.slice = owned.slice->id,
          .version = owned.versions.newest(),
          .groups = setup_.groups,
          .contributors = contributors_.makers(),
          .expected = static_cast<std::uint32_t>(contributors_.size()),
          .from = static_cast<std::uint32_t>(contributor),
          .folded = owned.maker->folded_weight(),
          .held = owned.seen,
          .own = owned.own};
}

Status Shard::take(const Message& message) {
  if (message.word == Word::leave) return leave(message);
  if (message.word == Word::chosen) return choose(message);
  if (message.word == Word::dropped || message.word == Word::folded) return hear_late(message);
  if (message.word == Word::norm) return hear_norm(message);
  if (message.word == Word::sums) return hear_sums(message);
  if (message.word == Word::align && message.version == 0) return align(message);
  if (message.word == Word::attest) return attest(message);
  if (message.slice >= owned_by_slice_.size() || owned_by_slice_[message.slice] == not_owned)
    return Status::corrupt("server ", setup_.server, " was asked for slice ", message.slice, ", which it does not own");
  Owned& owned = owned_[owned_by_slice_[message.slice]];
  switch (message.word) {
  case Word::update: return update(owned, message);
  case Word::get: return get(owned, message);
  case Word::call:
  case Word::part:
  case Word::taken:
  case Word::recall:
  case Word::recalled: return hear_neighbour(owned, message);
  case Word::align: return align_through(message);
  default: return asked(owned, message);
  }
}

std::string Shard::named(std::size_t contributor, const Owned& owned) const {
  return concat(contributors_.name_of(contributor), ", for ", owned.versions.name());
}

Status Shard::update(Owned& owned, const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.index_of(message));
  if (message.step < owned.accepted[contributor]) {
    ++repeated_;
    return {};
  }
  DLHOST_ASSIGN(const auto bytes, owned.maker->find(message, contributor));
  owned.accepted[contributor] = message.step + 1;
  const Received arrived{.contribution = {.kind = message.contribution,
                                          .who = message.identity(),
                                          .based_on = message.version,
                                          .elements = owned.slice->count,
                                          .bytes = bytes},
                         .contributor = contributor,
                         .rate = message.rate};
  if (traits_.by_step) {
    if (message.step < forgotten_[contributor]) // the chooser counted it as late before it arrived
      return late_weights_[contributor] > 0 ? owned.maker->fold(arrived, late_weights_[contributor]) : Status();
    if (owned.held.size() == owned.held.capacity())
      return Status::internal("more updates of slice ", message.slice, " wait than workers could send");
    owned.held.push_back(arrived);
    return apply_chosen(owned);
  }
  if (owned.traits.may_drop || owned.traits.folds) ++arrivals_.came; // counted only if contributions can be late
  setup_.activity->enter(owned.handler->actor, "on_update", message.step);
  SliceState state = this->state(owned, contributor);
  const UpdateVerdict verdict = owned.handler->consistency->on_update(state, arrived.contribution);
  setup_.activity->leave();
  return decide(owned, &arrived, verdict);
}

// A version may be complete without this worker: the handler decides again for each slice.
Status Shard::leave(const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.leaver_of(message));
  if (traits_.by_step) return {};
  contributors_.leave(contributor);
  if (contributors_.makers() == 0) return {};
  for (Owned& owned : owned_) {
    setup_.activity->enter(owned.handler->actor, "on_member");
    SliceState state = this->state(owned, contributor);
    const UpdateVerdict verdict = owned.handler->consistency->on_member(state);
    setup_.activity->leave();
    DLHOST_TRY(decide(owned, nullptr, verdict));
    DLHOST_TRY(answer_waiting(owned));
  }
  return {};
}

} // namespace dlhost::param
