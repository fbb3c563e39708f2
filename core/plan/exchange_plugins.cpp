#include "plan/exchange_plugins.h"

#include <algorithm>
#include <utility>

#include "param/exchange/group_sync.h"
#include "plan/place.h"
#include "plugin/contained.h"

namespace dlhost::plan {
namespace {

bool same(const Part& a, const Part& b) { return detail::written(a) == detail::written(b); }

template <class T> Result<Named<T>> named(const Part& part, plugin::Registry& registry) {
  Named<T> made;
  DLHOST_ASSIGN(made.plugin, registry.create<T>(part.type, part.options));
  DLHOST_ASSIGN(made.actor, registry.actor(T::kind, part.type, part.type));
  return made;
}

} // namespace

Status ExchangePlugins::add_handler(const Part& part, plugin::Registry& registry, Declared::Handler declared) {
  declared.named = part;
  DLHOST_ASSIGN(auto made, named<Consistency>(part, registry));
  const Consistency* handler = made.plugin.get();
  const plugin::Actor* actor = made.actor;
  DLHOST_TRY(plugin::tried(actor, "traits", [&] { return declared.traits = handler->traits(); }));
  DLHOST_TRY(plugin::tried(actor, "plan", [&] { return declared.first = handler->plan(0, 0); }));
  DLHOST_TRY(plugin::tried(actor, "next_timer", [&] { return declared.has_timer = handler->next_timer({}) != 0; }));
  handlers_.push_back(std::move(made));
  declared_.handlers.push_back(std::move(declared));
  return {};
}

Status ExchangePlugins::add_codec(const Part& part, plugin::Registry& registry) {
  constexpr std::int64_t some = 64;
  DLHOST_ASSIGN(codec_, named<Codec>(part, registry));
  const Codec* codec = codec_.plugin.get();
  const plugin::Actor* actor = codec_.actor;
  DLHOST_TRY(plugin::tried(actor, "traits", [&] { return declared_.codec.emplace(codec->traits()); }));
  return plugin::tried(actor, "learns", [&] {
    return declared_.codec_keeps = declared_.codec->error_feedback || codec->learns({some, some}) > 0;
  });
}

Status ExchangePlugins::add_sync(const Part& part, plugin::Registry& registry) {
  DLHOST_ASSIGN(sync_, named<Sync>(part, registry));
  const Sync* sync = sync_.plugin.get();
  Declared::Groups groups;
  DLHOST_TRY(plugin::tried(sync_.actor, "traits", [&] { return groups.traits = sync->traits(); }));
  DLHOST_TRY(
      plugin::tried(sync_.actor, "neighbours", [&] { return groups.gossips = param::GroupSync::gossips(*sync); }));
  declared_.sync = groups;
  return {};
}

std::optional<ExchangePlugins> ExchangePlugins::make(const config::Job& job, plugin::Registry& registry,
                                                     config::Problems& problems) {
  const config::Topology& topology = job.topology;
  ExchangePlugins plugins;
  const std::size_t before = problems.count();
  bool known = true;
  const auto add = [&](const char* key, const Part& part, const auto& adding) {
    if (problems.refused(key)) {
      known = false;
      return;
    }
    if (const Status status = adding(part); !status.ok()) problems.of_key(key, job.place(key), status.message());
  };
  add("topology.consistency", topology.consistency, [&](const Part& part) {
    return plugins.add_handler(part, registry, {.where = job.place("topology.consistency")});
  });
  if (Place::has_seats(topology) && !topology.codec.type.empty())
    add("topology.codec", topology.codec, [&](const Part& part) { return plugins.add_codec(part, registry); });
  if (Place::has_seats(topology) && topology.server_groups > 1 && !topology.sync.type.empty())
    add("topology.sync", topology.sync, [&](const Part& part) { return plugins.add_sync(part, registry); });
  if (!known || problems.count() > before) return {};

  for (const auto& layer : job.layers)
    for (const auto& param : layer.params) {
      if (!param.consistency || problems.refused_layer(layer.name)) continue;
      const Part& part = *param.consistency;
      if (std::ranges::any_of(plugins.declared_.handlers, [&](const auto& one) { return same(one.named, part); }))
        continue;
      const Status status =
          plugins.add_handler(part, registry, {.layer = layer.name, .param = param.name, .where = param.where});
      if (!status.ok())
        problems.of_layer(layer.name, param.where, "param.", param.name, ".consistency = ", detail::written(part), ": ",
                          status.message());
    }
  if (problems.count() > before) return {};
  return plugins;
}

Result<ExchangePlugins> ExchangePlugins::make(const config::Job& job, plugin::Registry& registry) {
  config::Problems problems;
  auto plugins = make(job, registry, problems);
  DLHOST_TRY(problems.status());
  return *std::move(plugins);
}

std::size_t ExchangePlugins::number_of(const param::Param& param) const {
  const Part& own = param.declared.consistency;
  if (own.type.empty() || handlers_.size() == 1) return 0;
  const auto found = std::ranges::find_if(declared_.handlers, [&](const auto& one) { return same(one.named, own); });
  return found == declared_.handlers.end() ? 0 : static_cast<std::size_t>(found - declared_.handlers.begin());
}

param::Handlers ExchangePlugins::handlers(const param::Store& store) const {
  const auto handler = [this](std::size_t number) {
    return param::Handler{.consistency = handlers_[number].plugin.get(), .actor = handlers_[number].actor};
  };
  param::Handlers handlers{.job = handler(0)};
  if (handlers_.size() > 1)
    for (const auto& param : store.params()) handlers.own.push_back(handler(number_of(*param)));
  return handlers;
}

} // namespace dlhost::plan
