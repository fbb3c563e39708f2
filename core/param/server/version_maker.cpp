#include "param/server/version_maker.h"

#include <algorithm>
#include <utility>

#include "param/server/data_races.h"

namespace dlhost::param {

Result<std::unique_ptr<VersionMaker>> VersionMaker::make(Setup setup) {
  std::unique_ptr<VersionMaker> maker(new VersionMaker(setup));
  const Slice& slice = maker->versions_.slice();
  const std::size_t contributors = maker->versions_.contributors().size();
  maker->due_.reserve(contributors);
  maker->gradients_.resize(contributors + 1);
  if (setup.codec.encodes(slice)) {
    DLHOST_ASSIGN(maker->decoder_, Decoder::make(setup.codec, slice));
  }
  // One late contribution of each worker, and as many that no version waits for, perhaps all of one worker.
  if (setup.folds) {
    DLHOST_ASSIGN(maker->folded_,
                  LateSum::make(*setup.store, slice.count, Ledger::most_parts(contributors) - contributors));
  }
  DLHOST_TRY(maker->prepare_updates());
  if (setup.slices->of(slice.param).size() > 1) maker->sums_over_slices_ = setup.rule->partials.results().size();
  maker->setup_.rule = nullptr;
  return maker;
}

Status VersionMaker::prepare_updates() {
  const Slice& slice = versions_.slice();
  const Updater::Rule& rule = *setup_.rule;
  Param& param = *setup_.store->params()[slice.param];
  SliceUpdate::Histories histories(setup_.masters->copies().histories);
  for (std::size_t copy = 0; copy < histories.size(); ++copy)
    for (std::size_t slot = 0; slot < rule.history.size(); ++slot)
      histories[copy].push_back(reinterpret_cast<float*>(setup_.masters->history(slice.param, slot, copy).data()) +
                                slice.first);
  if (param.factors) {
    DLHOST_ASSIGN(factored_, FactoredUpdate::prepare({.store = setup_.store,
                                                      .param = &param,
                                                      .slice = &slice,
                                                      .histories = std::move(histories),
                                                      .contributions = versions_.contributors().size(),
                                                      .updater = setup_.updater,
                                                      .rule = &rule,
                                                      .settings = setup_.settings}));
    return {};
  }
  const std::size_t sent = decoder_ || setup_.one_sum ? 1 : versions_.contributors().size();
  const std::size_t most = sent + (folded_ ? 1 : 0); // gradients of an update
  for (std::size_t gradients = 1; gradients <= most; ++gradients) {
    DLHOST_ASSIGN(updates_.emplace_back(), SliceUpdate::prepare(*setup_.store, param, slice.count, histories, gradients,
                                                                *setup_.updater, rule, setup_.settings));
  }
  return {};
}

void VersionMaker::work_in(std::span<std::byte> room) {
  if (factored_) factored_->work_in(room);
}

ContributionKind VersionMaker::kind() const {
  if (decoder_) return ContributionKind::encoded;
  if (!factored_) return setup_.kind;
  return versions_.param().factors->of_rows ? ContributionKind::rows : ContributionKind::factors;
}

Result<std::span<const std::byte>> VersionMaker::find(const to_server::Update& message, std::size_t contributor) const {
  if (message.kind != kind())
    return Status::corrupt("worker ", message.worker.rank, " of group ", message.worker.group,
                           " sends the wrong kind of contribution to slice ", message.slice);
  const auto memory = contributors_[contributor].sent;
  if (decoder_) {
    auto found = decoder_->find(memory, message.place);
    return found.ok() ? std::move(found) : Status(found.status()).at(versions_.name_for(contributors_[contributor]));
  }
  const auto bytes = factored_ ? versions_.param().factors->bytes()
                               : static_cast<std::size_t>(versions_.slice().count) * sizeof(float);
  if (bytes > memory.size() || message.place > memory.size() - bytes || message.place % sizeof(float) != 0)
    return Status::corrupt("worker ", message.worker.rank, " of group ", message.worker.group,
                           " has its contribution to slice ", message.slice, " at ", message.place,
                           ", outside of its memory of ", memory.size(), " bytes");
  return memory.subspan(message.place, bytes);
}

Status VersionMaker::make_due(std::span<const Received> held, const Received* arrived, const UpdateVerdict& verdict) {
  if (held.size() + (arrived ? 1 : 0) > versions_.contributors().size())
    return Status::internal("more updates of slice ", versions_.slice().id, " make a version than there are workers");
  due_.assign(held.begin(), held.end());
  if (arrived) due_.push_back(*arrived);
  // In the order of the workers, not of arrival, so that sums have the same bits every time.
  std::ranges::sort(due_, {}, &Received::contributor);
  verdict_ = verdict;
  return decoder_ ? decode() : Status();
}

Status VersionMaker::decode() {
  decoder_->clear();
  for (const Received& due : due_) {
    Status added = decoder_->add(due.contribution.bytes, due.step());
    if (!added.ok()) return std::move(added).at(versions_.name_for(contributors_[due.contributor])); // a name allocates
  }
  DLHOST_ASSIGN(decoded_, decoder_->sum());
  return {};
}

Status VersionMaker::fold(const Received& received, float weight) {
  if (!folded_) return Status::internal("the consistency handler folds, but its traits do not declare it");
  const auto* gradient = reinterpret_cast<const float*>(received.contribution.bytes.data());
  if (decoder_) {
    decoder_->clear();
    Status added = decoder_->add(received.contribution.bytes, received.step());
    if (!added.ok()) return std::move(added).at(versions_.name_for(contributors_[received.contributor]));
    DLHOST_ASSIGN(gradient, decoder_->sum());
  }
  return folded_->add(gradient, weight, contributors_.part_of(received), received.rate);
}

// The sum over all groups; or the due contributions, decoded if they are encoded, and the sum of the folded ones.
std::span<const float* const> VersionMaker::gradients() {
  std::size_t count = 0;
  if (sum_) {
    gradients_[count++] = sum_;
    return std::span(gradients_).first(count);
  }
  if (decoder_ && !due_.empty()) gradients_[count++] = decoded_;
  for (const Received& due : due_)
    if (!decoder_) gradients_[count++] = reinterpret_cast<const float*>(due.contribution.bytes.data());
  if (has_folded()) gradients_[count++] = folded_->sum();
  return std::span(gradients_).first(count);
}

float VersionMaker::take_weight() { return std::exchange(verdict_.weight, 1.0F); }

SliceUpdate::Run VersionMaker::run_to(std::size_t place) {
  const double rate = due_.empty() ? folded_->rate() : due_.back().rate;
  return {.from = versions_.value(),
          .to = versions_.value(place),
          .history = versions_.history(),
          .new_history = versions_.next_history(),
          .gradients = gradients(),
          .count = versions_.newest() + 1,
          .rate = rate * static_cast<double>(verdict_.rate_factor),
          .weight = verdict_.weight};
}

Result<double> VersionMaker::squared_norm() {
  const auto run = run_to(versions_.place());
  return update_of(run).squared_norm(run);
}

Result<std::span<const double>> VersionMaker::partials() {
  setup_.activity->enter(setup_.actor, "partials", due_.front().step());
  const auto run = run_to(versions_.place());
  auto made = update_of(run).partials(run);
  setup_.activity->leave();
  return made;
}

Status VersionMaker::write(std::span<const double> sums) {
  std::size_t next = versions_.place();
  if (!verdict_.in_place) {
    DLHOST_ASSIGN(next, versions_.room());
  }
  const auto run = run_to(next);
  const IgnoreDataRaces racing(verdict_.in_place);
  setup_.activity->enter(setup_.actor, "update", due_.empty() ? folded_->parts().back().step : due_.front().step());
  const auto updated = [&]() -> Status {
    if (factored_) return factored_->run(run);
    SliceUpdate& update = update_of(run);
    if (sums_over_slices_ > 0) return update.run(run, sums);
    DLHOST_ASSIGN(const auto own, update.partials(run)); // the param is not cut: its sums are those of the slice
    return update.run(run, own);
  };
  Status status = updated();
  setup_.activity->leave();
  versions_.moved(next, run.new_history);
  return status;
}

void VersionMaker::list(std::vector<Ledger::Part>& to) const {
  to.clear();
  for (const Received& due : due_) to.push_back(contributors_.part_of(due));
  if (!folded_) return;
  to.insert(to.end(), folded_->parts().begin(), folded_->parts().end());
  std::ranges::sort(to);
}

void VersionMaker::count_in() {
  for (const Received& due : due_) versions_.contain(due.contributor, due.step() + 1);
  due_.clear();
  sum_ = nullptr;
  if (!folded_) return;
  for (const Ledger::Part& part : folded_->parts())
    versions_.contain(contributors_.index_of(part.contributor), part.step + 1);
  folded_->clear();
}

} // namespace dlhost::param
