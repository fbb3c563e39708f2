#include "param/server/shard.h"

#include <algorithm>
#include <utility>

namespace dlhost::param {
namespace {

constexpr std::size_t not_owned = ~std::size_t{0};

} // namespace

Shard::Shard(ShardSetup setup)
    : setup_(std::move(setup)), contributors_(std::move(setup_.contributors), setup_.groups),
      traits_(setup_.handlers.job.consistency->traits()),
      kind_(setup_.handlers.job.consistency->plan(0, 0).send_delta ? ContributionKind::delta : ContributionKind::dense),
      answers_({.machine = setup_.machine,
                .contributors = &contributors_,
                .masters = setup_.masters,
                .coding = setup_.sync ? setup_.sync->neighbours.codec.coding : nullptr,
                .exchanged = setup_.sync ? setup_.sync->neighbours.memory : std::span<std::byte>(),
                .send = &setup_.send,
                .send_with = &setup_.send_with,
                .show = &setup_.show,
                .show_own = &setup_.show_own}) {
  if (traits_.by_step) choices_.emplace(contributors_.size());
  if (!setup_.published.empty()) published_.emplace(setup_.published, contributors_.size());
  if (kind_ == ContributionKind::delta) {
    setup_.updater = &addition_;
    setup_.update_settings = {};
  }
}

Result<std::unique_ptr<Shard>> Shard::make(ShardSetup setup) {
  std::unique_ptr<Shard> shard(new Shard(std::move(setup)));
  const ShardSetup& own = shard->setup_;
  const auto rule = own.updater->rule();
  std::vector<const Slice*> owned;
  for (const Slice& slice : own.slices->all())
    if (slice.server == own.server) owned.push_back(&slice);
  DLHOST_TRY(shard->make_exchange(owned));
  shard->owned_by_slice_.assign(own.slices->size(), not_owned);
  for (const Slice* slice : owned) DLHOST_TRY(shard->own(*slice, rule));
  DLHOST_TRY(shard->make_room());
  if (own.update_settings.clip_norm > 0 && !owned.empty())
    shard->norm_.emplace(GradientNorm::Setup{.server = own.server,
                                             .slices = own.slices->all(),
                                             .seats = own.seats,
                                             .largest = own.update_settings.clip_norm,
                                             .send = &own.send});
  return shard;
}

Status Shard::make_exchange(std::span<const Slice* const> owned) {
  std::optional<GroupSync::Setup> values = std::move(setup_.sync);
  if (values && values->neighbours.sync->traits().of == Sync::Traits::Of::gradients) {
    DLHOST_ASSIGN(sums_, GradientSums::make(std::move(values->neighbours), *setup_.store, owned, contributors_.size()));
    values.reset();
  }
  const bool publishes_changes = values && values->mends && !setup_.versions_outlive;
  DLHOST_ASSIGN(exchange_, ValueExchange::make({.sync = std::move(values),
                                                .publishes_changes = publishes_changes,
                                                .send = &setup_.send,
                                                .answers = &answers_},
                                               owned));
  return {};
}

Status Shard::own(const Slice& slice, const Updater::Rule& rule) {
  owned_by_slice_[slice.id] = owned_.size();
  const Handler& handler = setup_.handlers.of(slice.param);
  const Param& param = *setup_.store->params()[slice.param];
  Owned& owned =
      owned_.emplace_back(owned_.size(), SliceContributors(contributors_, holders_of(param.declared.parts, slice.part)),
                          SliceVersions::Setup{.slice = &slice,
                                               .param = &param,
                                               .masters = setup_.masters,
                                               .surviving = published_ ? &*published_ : nullptr,
                                               .each_outlives = setup_.versions_outlive});
  DLHOST_ASSIGN(owned.maker, VersionMaker::make({.versions = &owned.versions,
                                                 .store = setup_.store,
                                                 .masters = setup_.masters,
                                                 .slices = setup_.slices,
                                                 .kind = kind_,
                                                 .codec = setup_.codec,
                                                 .folds = handler.consistency->traits().folds,
                                                 .one_sum = sums_ != nullptr,
                                                 .updater = setup_.updater,
                                                 .rule = &rule,
                                                 .actor = setup_.updater_actor,
                                                 .settings = setup_.update_settings,
                                                 .activity = setup_.activity}));
  const StepChoices* choices = choices_ ? &*choices_ : nullptr;
  owned.decisions.emplace(SliceDecisions::Setup{.handler = handler,
                                                .choices = choices,
                                                .versions = &owned.versions,
                                                .maker = owned.maker.get(),
                                                .arrivals = &arrivals_,
                                                .activity = setup_.activity});
  owned.requests.emplace(SliceRequests::Setup{.choices = choices,
                                              .versions = &owned.versions,
                                              .maker = owned.maker.get(),
                                              .decisions = &*owned.decisions,
                                              .answers = &answers_,
                                              .sync = exchange_->sync(),
                                              .which = owned.which});
  exchange_->add(owned.versions, *owned.maker, *owned.requests);
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
  exchange_->begin(beginning);
  if (sums_) sums_->begin();
  for (Owned& owned : owned_) {
    const SliceId slice = owned.versions.slice().id;
    const Version version = beginning.version_of(slice);
    owned.maker->forget_sum();
    if (owned.sums) owned.sums->begin(version);
    const auto steps = std::span(beginning.steps_of(slice)).subspan(contributors_.number_of(0), contributors_.size());
    owned.versions.begin(version, steps);
    // A worker whose step is in the start values must not wait for a version that is made without it.
    for (std::size_t c = 0; choices_ && c < steps.size(); ++c) choices_->forget(c, steps[c]);
    owned.decisions->begin(steps);
    owned.versions.unpublish();
    if (!exchange_->is_joining()) exchange_->publish(owned.which);
  }
}

Status Shard::keep_ledger(std::unique_ptr<LogFile> file, std::uint32_t server, const StartPoint& beginning,
                          std::string_view before) {
  std::vector<Ledger::Owned> slices;
  for (const Owned& owned : owned_) {
    const Declaration& param = owned.versions.param().declared;
    const Slice& slice = owned.versions.slice();
    slices.push_back({&slice, param.name, holders_of(param.parts, slice.part)});
  }
  parts_.reserve(Ledger::most_parts(contributors_.size()));
  ledger_.emplace(
      std::move(file), std::move(slices), beginning.steps.size(),
      Ledger::Keeping{.server = server, .at_once = published_ && setup_.versions_outlive, .summed = setup_.alike});
  answers_.keep(&*ledger_);
  exchange_->keep(&*ledger_);
  return ledger_->begin(beginning, before);
}

Result<Shard::Owned*> Shard::find(SliceId slice) {
  if (slice >= owned_by_slice_.size() || owned_by_slice_[slice] == not_owned)
    return Status::corrupt("server ", setup_.server, " was asked for slice ", slice, ", which it does not own");
  return &owned_[owned_by_slice_[slice]];
}

Status Shard::take(std::uint32_t from, const ToServer& message) {
  return std::visit([&](const auto& one) { return take_one(from, one); }, message);
}

Status Shard::take(std::uint32_t from, const ToNeighbour& message) {
  const SliceId slice = std::visit([](const auto& one) { return one.slice; }, message);
  DLHOST_ASSIGN(Owned* const owned, find(slice));
  if (!sums_) return exchange_->take(owned->which, from, message);
  DLHOST_TRY(sums_->take(owned->which, from, message));
  return sum_up(*owned);
}

Status Shard::take_one(std::uint32_t, const to_server::Update& update) {
  DLHOST_ASSIGN(Owned* const owned, find(update.slice));
  DLHOST_ASSIGN(const std::size_t contributor, owned->versions.contributors().index_of(update.worker, update.slice));
  if (update.step < owned->decisions->arrived(contributor)) {
    ++repeated_;
    return {};
  }
  DLHOST_ASSIGN(const auto bytes, owned->maker->find(update, contributor));
  const Received arrived{.contribution = {.kind = update.kind,
                                          .who = update.identity(setup_.epoch),
                                          .based_on = update.based_on,
                                          .elements = owned->versions.slice().count,
                                          .bytes = bytes},
                         .contributor = contributor,
                         .rate = update.rate};
  DLHOST_ASSIGN(const auto outcome, owned->decisions->take(arrived));
  return go_on(*owned, &arrived, outcome);
}

template <class Request> Status Shard::request(const Request& request) {
  DLHOST_ASSIGN(Owned* const owned, find(request.slice));
  return owned->requests->take(request);
}

// A version may be complete without this worker: the handler decides again for each slice.
Status Shard::take_one(std::uint32_t from, const to_server::Leave& message) {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.leaver_of(from, message));
  if (traits_.by_step)
    return Status::corrupt("seat ", from, " sends 'Leave' to a server, but the chooser counts the workers");
  contributors_.leave(contributor);
  if (contributors_.makers() == 0) return {};
  for (Owned& owned : owned_) {
    DLHOST_ASSIGN(const auto outcome, owned.decisions->leave(contributor));
    DLHOST_TRY(go_on(owned, nullptr, outcome));
    DLHOST_TRY(owned.requests->answer_gets());
  }
  return {};
}

Status Shard::take_one(std::uint32_t from, const to_server::Chosen& message) {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.index_of(message.worker));
  if (!is_of_chooser(from)) return Status::corrupt("seat ", from, " chooses contributions, which only the chooser may");
  DLHOST_ASSIGN(const bool whole, choices_->choose(message, contributor));
  if (!whole) return {};
  for (Owned& owned : owned_) DLHOST_TRY(apply_chosen(owned));
  return {};
}

Result<std::size_t> Shard::late(std::uint32_t from, WorkerId worker) const {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.index_of(worker));
  if (is_of_chooser(from)) return contributor;
  return Status::corrupt("seat ", from, " reports worker ", worker.rank, " of group ", worker.group,
                         " as late, which only the chooser may");
}

Status Shard::take_one(std::uint32_t from, const to_server::Dropped& message) {
  DLHOST_ASSIGN(const std::size_t contributor, late(from, message.worker));
  choices_->forget(contributor, message.step + 1, 0);
  if (ledger_) DLHOST_TRY(ledger_->dropped({contributors_.number_of(contributor), message.step}));
  for (Owned& owned : owned_) owned.versions.contain(contributor, choices_->forgotten(contributor));
  return go_on_late(contributor, false);
}

Status Shard::take_one(std::uint32_t from, const to_server::Folded& message) {
  DLHOST_ASSIGN(const std::size_t contributor, late(from, message.worker));
  if (!traits_.folds || !(message.weight > 0))
    return Status::corrupt("the chooser folds in a contribution with weight ", message.weight,
                           ": the weight is positive, and the handler must fold");
  choices_->forget(contributor, message.step + 1, message.weight);
  return go_on_late(contributor, true);
}

Status Shard::go_on_late(std::size_t contributor, bool folds) {
  for (Owned& owned : owned_) {
    DLHOST_TRY(owned.decisions->take_late(contributor, folds));
    owned.requests->wait_for_none(contributor); // the version it waits for is made without it
    DLHOST_TRY(owned.requests->answer_gets());
  }
  return {};
}

// Requires: all workers pause, and all their updates have arrived.
Status Shard::take_one(std::uint32_t from, const to_server::Align& message) {
  if (from != leading_seat && !is_of_chooser(from))
    return Status::corrupt("seat ", from, " sends 'Align', which only the run's leader and the chooser may");
  for (Owned& owned : owned_) {
    if (owned.maker->has_folded())
      DLHOST_TRY(amend(owned, choices_ ? message.weight : owned.decisions->weight_at_pause()));
    DLHOST_TRY(exchange_->align(owned.which, message.number));
  }
  return exchange_->say_aligned();
}

Status Shard::take_one(std::uint32_t from, const to_server::AlignThrough& message) {
  DLHOST_ASSIGN(Owned* const owned, find(message.slice));
  return exchange_->align_through(owned->which, from, message);
}

Status Shard::join(std::uint32_t number) { return exchange_->join(number); }

Status Shard::lose(std::uint32_t rank) { return exchange_->lose(rank); }

Status Shard::replace(std::uint32_t rank, std::span<std::byte> memory, std::uint32_t order) {
  return exchange_->replace(rank, memory, order);
}

} // namespace dlhost::param
