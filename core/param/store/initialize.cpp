#include "param/store/initialize.h"

#include <dlhost/parts.h>

#include "config/problems.h"
#include "plugin/contained.h"

namespace dlhost::param {
namespace {

std::uint32_t stream_of(std::string_view name) { // FNV-1a
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

} // namespace

Status initialize(Store& store, plugin::Registry& registry, plugin::Activity& activity, std::uint64_t seed) {
  for (auto& param : store.params()) {
    const Declaration& declared = param->declared;
    const std::string at = config::to_string(declared.init_at);
    const std::string place =
        concat(at, at.empty() ? "" : ": ", "param '", declared.name, "', initializer '", declared.init.type, "'");
    auto initializer = registry.create<Initializer>(declared.init.type, declared.init.options);
    if (!initializer.ok()) return std::move(initializer).status().at(place);
    std::vector<float> values(static_cast<std::size_t>(declared.shape.count()));
    Random random({seed, stream_of(declared.name)}, 0, 0);
    DLHOST_ASSIGN(const auto* actor, registry.actor(Kind::initializer, declared.init.type, declared.name));
    DLHOST_TRY(plugin::contained(activity, actor, "fill", plugin::no_step, [&] {
                 return (*initializer)->fill(values, {declared.shape, declared.fan_in, declared.fan_out}, random);
               }).at(place));
    DLHOST_TRY(store.set(*param, values));
  }
  return store.wait();
}

} // namespace dlhost::param
