#include "run/session/agreement.h"

#include <algorithm>
#include <utility>

#include "plugin/contained.h"

namespace dlhost::run {
namespace {

bool same(const Part& a, const Part& b) { return detail::written(a) == detail::written(b); }

Result<Agreement::One> one_of(const Part& named, plugin::Registry& registry) {
  Agreement::One one{.named = named, .consistency = nullptr, .traits = {}, .first = {}};
  DLHOST_ASSIGN(one.consistency, registry.create<Consistency>(named.type, named.options));
  DLHOST_ASSIGN(one.actor, registry.actor(Kind::consistency, named.type, named.type));
  DLHOST_TRY(plugin::tried(one.actor, "traits", [&] { return one.traits = one.consistency->traits(); }));
  DLHOST_TRY(plugin::tried(one.actor, "plan", [&] { return one.first = one.consistency->plan(0, 0); }));
  return one;
}

// What keeps a param's from standing beside the job's; empty: nothing.
std::string disagreement(const Agreement::One& job, const Agreement::One& own) {
  const auto between = [&](bool of_job, const char* with, const char* without) {
    const auto& [has, lacks] = of_job ? std::pair(&job, &own) : std::pair(&own, &job);
    return concat("under '", has->named.type, "' ", with, ", under '", lacks->named.type, "' ", without);
  };
  if (job.traits.by_step || own.traits.by_step) {
    const auto& chooses = job.traits.by_step ? job : own;
    return concat("'", chooses.named.type,
                  "' chooses groups for whole steps, so that all params' versions are made of the same");
  }
  if (job.traits.joint != own.traits.joint)
    return between(job.traits.joint, "all groups' contributions make an update together",
                   "each group's make updates of their own, and losses are divided otherwise");
  if (job.in_step() != own.in_step())
    return between(job.in_step(), "all groups make each step together", "each goes at its own pace");
  if (job.whole_versions() != own.whole_versions())
    return between(job.whole_versions(), "each version is made of all that was brought to a step", "it may not be");
  if (job.first.update_locally != own.first.update_locally)
    return between(job.first.update_locally, "workers have values of their own", "they read those of the servers");
  if (job.first.send_delta != own.first.send_delta)
    return between(job.first.send_delta, "workers send differences", "they send gradients");
  return "";
}

} // namespace

Status Agreement::add(const Part& named, plugin::Registry& registry) {
  if (std::ranges::any_of(all_, [&](const One& one) { return same(one.named, named); })) return {};
  DLHOST_ASSIGN(auto one, one_of(named, registry));
  all_.push_back(std::move(one));
  return {};
}

Result<Agreement> Agreement::make(const config::Job& job, plugin::Registry& registry) {
  Agreement agreement;
  DLHOST_TRY(agreement.add(job.topology.consistency, registry));
  for (const auto& layer : job.layers)
    for (const auto& param : layer.params)
      if (param.consistency) DLHOST_TRY(agreement.add(*param.consistency, registry));
  return agreement;
}

const Agreement::One& Agreement::of(const param::Param& param) const {
  const Part& own = param.declared.consistency;
  if (own.type.empty() || all_.size() == 1) return job();
  const auto found = std::ranges::find_if(all_, [&](const One& one) { return same(one.named, own); });
  return found == all_.end() ? job() : *found;
}

bool Agreement::any(bool Consistency::Traits::*trait) const {
  return std::ranges::any_of(all_, [&](const One& one) { return one.traits.*trait; });
}

param::Handlers Agreement::handlers(const param::Store& store) const {
  const auto handler = [](const One& one) {
    return param::Handler{.consistency = one.consistency.get(), .actor = one.actor};
  };
  param::Handlers handlers{.job = handler(job())};
  if (all_.size() > 1)
    for (const auto& param : store.params()) handlers.own.push_back(handler(of(*param)));
  return handlers;
}

void check_agreement(const config::Job& job, plugin::Registry& registry, config::Problems& problems) {
  if (problems.refused("topology.consistency")) return;
  const auto jobs = one_of(job.topology.consistency, registry);
  for (const auto& layer : job.layers)
    for (const auto& param : layer.params) {
      if (!param.consistency || problems.refused_layer(layer.name) ||
          same(*param.consistency, job.topology.consistency))
        continue;
      const auto refuse = [&](const auto&... why) {
        problems.of_layer(layer.name, param.where, "param.", param.name,
                          ".consistency = ", detail::written(*param.consistency), ": ", why...);
      };
      const auto own = one_of(*param.consistency, registry);
      if (!own.ok())
        refuse(own.status().message());
      else if (!jobs.ok())
        problems.of_key("topology.consistency", job.place("topology.consistency"), jobs.status().message());
      else if (const auto why = disagreement(*jobs, *own); !why.empty())
        refuse(why, "; leave it out, or let the two agree in that (topology.consistency = ",
               detail::written(job.topology.consistency), ")");
      if (!jobs.ok()) return;
    }
}

} // namespace dlhost::run
