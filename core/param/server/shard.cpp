#include "param/server/shard.h"

#include <algorithm>

namespace dlhost::param {
namespace {

constexpr std::size_t not_owned = ~std::size_t{0};

} // namespace

Shard::Shard(ShardSetup setup)
    : setup_(std::move(setup)), contributors_(std::move(setup_.contributors), setup_.groups),
      traits_(setup_.handlers.job.consistency->traits()),
      kind_(setup_.handlers.job.consistency->plan(0, 0).send_delta ? ContributionKind::delta
                                                                   : ContributionKind::dense) {
  if (traits_.by_step) choices_.emplace(contributors_.size());
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
  owned.waiting.reserve(contributors);
  owned.asked.reserve(3 * contributors); // of each: a look, a settle at the end of a step, a settle before a pause
  DLHOST_ASSIGN(owned.maker, VersionMaker::make({.versions = &owned.versions,
                                                 .contributors = &contributors_,
                                                 .store = setup_.store,
                                                 .masters = setup_.masters,
                                                 .slices = setup_.slices,
                                                 .kind = kind_,
                                                 .codec = setup_.codec,
                                                 .folds = handler.consistency->traits().folds,
                                                 .one_sum = sums_gradients(),
                                                 .updater = setup_.updater,
                                                 .rule = &rule,
                                                 .actor = setup_.updater_actor,
                                                 .settings = setup_.update_settings,
                                                 .activity = setup_.activity}));
  owned.decisions.emplace(SliceDecisions::Setup{.handler = handler,
                                                .contributors = &contributors_,
                                                .choices = choices_ ? &*choices_ : nullptr,
                                                .versions = &owned.versions,
                                                .maker = owned.maker.get(),
                                                .arrivals = &arrivals_,
                                                .activity = setup_.activity});
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
    // The steps of this server's contributors.
    const auto steps = std::span(beginning.steps_of(owned.slice->id)).subspan(contributors_.number_of(0));
    owned.versions.begin(version, steps.first(contributors_.size()));
    // A worker whose step is in the start values must not wait for a version that is made without it.
    for (std::size_t c = 0; choices_ && c < contributors_.size(); ++c) choices_->forget(c, steps[c]);
    owned.decisions->begin(steps.first(contributors_.size()));
    owned.versions.unpublish();
    if (!sync_ || !sync_->is_joining()) publish(owned);
  }
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
  if (message.step < owned.decisions->arrived(contributor)) {
    ++repeated_;
    return {};
  }
  DLHOST_ASSIGN(const auto bytes, owned.maker->find(message, contributor));
  const Received arrived{.contribution = {.kind = message.contribution,
                                          .who = message.identity(),
                                          .based_on = message.version,
                                          .elements = owned.slice->count,
                                          .bytes = bytes},
                         .contributor = contributor,
                         .rate = message.rate};
  DLHOST_ASSIGN(const auto outcome, owned.decisions->take(arrived));
  return go_on(owned, &arrived, outcome);
}

// A version may be complete without this worker: the handler decides again for each slice.
Status Shard::leave(const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.leaver_of(message));
  if (traits_.by_step) return {};
  contributors_.leave(contributor);
  if (contributors_.makers() == 0) return {};
  for (Owned& owned : owned_) {
    DLHOST_ASSIGN(const auto outcome, owned.decisions->leave(contributor));
    DLHOST_TRY(go_on(owned, nullptr, outcome));
    DLHOST_TRY(answer_waiting(owned));
  }
  return {};
}

} // namespace dlhost::param
