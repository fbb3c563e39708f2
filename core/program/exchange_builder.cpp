#include "program/exchange_builder.h"

#include "program/table_updates.h"

namespace dlhost::program {

Result<std::unique_ptr<ParamExchange>> ExchangeBuilder::build(std::vector<Call>& calls) const {
  if (request_.sharing) return through_table(calls);
  DLHOST_ASSIGN(auto updates, local());
  if (request_.others) return with_sums(std::move(updates));
  return std::unique_ptr<ParamExchange>(new LocalUpdates(std::move(updates)));
}

Result<std::unique_ptr<ParamExchange>> ExchangeBuilder::through_table(std::vector<Call>& calls) const {
  std::unique_ptr<HostCopies> copies;
  if (request_.crosses_beside) {
    DLHOST_ASSIGN(copies, HostCopies::make(setup_.device, setup_.updated.size()));
  }
  for (auto& call : calls)
    if (call.leaves) call.beside = copies.get();
  std::vector<const param::Param*> updated(setup_.updated.begin(), setup_.updated.end());
  return std::unique_ptr<ParamExchange>(
      new TableUpdates(setup_.store, *request_.sharing, std::move(updated), std::move(copies)));
}

Result<std::unique_ptr<ParamExchange>> ExchangeBuilder::with_sums(LocalUpdates::Setup updates) const {
  std::vector<SummedUpdates::Gradient> gradients;
  for (const auto& step : setup_.steps)
    if (step.act == Act::update) {
      const Slot& slot = setup_.slots[step.gradient];
      gradients.push_back({slot.data, static_cast<std::int64_t>(slot.bytes / size_of(slot.desc.dtype))});
    }
  DLHOST_ASSIGN(auto sums, GradientSums::make(setup_.device, setup_.stream, *request_.others, gradients.size()));
  return std::unique_ptr<ParamExchange>(
      new SummedUpdates(std::move(updates), std::move(gradients), std::move(sums), *request_.others));
}

Result<LocalUpdates::Setup> ExchangeBuilder::local() const {
  LocalUpdates::Setup updates{.updates = {},
                              .joined = {},
                              .clip_norm = request_.clip_norm,
                              .loss_scale = setup_.loss_scale,
                              .timings = setup_.timings,
                              .activity = setup_.activity,
                              .actor = request_.actor};
  for (std::size_t s = 0; s < setup_.steps.size(); ++s) {
    const auto& step = setup_.steps[s];
    if (step.act != Act::update) continue;
    DLHOST_ASSIGN(auto update, param::Update::prepare(setup_.store, *setup_.updated[step.index], *request_.updater,
                                                      request_.rule, request_.settings));
    updates.updates.push_back({.update = std::move(update), .gradient = data(step.gradient), .step = s});
  }
  for (const UpdateGroup& group : request_.groups) DLHOST_TRY(join(updates, group));
  return updates;
}

// Prepares one op for several updates. Without such an op on the device, each update runs alone.
Status ExchangeBuilder::join(LocalUpdates::Setup& all, const UpdateGroup& group) const {
  std::vector<param::Update*> updates;
  for (const auto update : group.updates) updates.push_back(all.updates[update].update.get());
  auto together = param::UpdateTogether::prepare(setup_.store, std::move(updates), request_.rule, request_.settings);
  if (!together.ok()) return together.status().code() == Code::unsupported ? Status() : std::move(together).status();
  LocalUpdates::Joined joined{.updates = group.updates, .together = *std::move(together), .gradients = {}};
  for (const SlotId gradient : group.gradients) joined.gradients.push_back(data(gradient));
  all.joined.push_back(std::move(joined));
  return {};
}

} // namespace dlhost::program
