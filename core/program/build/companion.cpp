#include "program/build/companion.h"

namespace dlhost::program {

Companion::Companion(plugin::Registry& registry, plugin::Activity& activity, const net::Node& layer,
                     const std::string& device_type)
    : registry_(registry), activity_(activity), layer_(layer), name_(concat(layer.type, "@", device_type)) {}

bool Companion::exists() const { return registry_.candidate(Kind::kernel, name_).status().code() != Code::not_found; }

Status Companion::load() {
  if (kernels_) return {};
  DLHOST_ASSIGN(actor_, registry_.actor(Kind::kernel, name_, layer_.name));
  DLHOST_ASSIGN(kernels_, registry_.create<Kernels>(name_, {}));
  return {};
}

Result<std::unique_ptr<Op>> Companion::prepare(Device& device, const KernelSpec& spec, const Choice& choice) {
  DLHOST_TRY(load());
  activity_.enter(actor_, "prepare");
  auto op = kernels_->prepare(device, spec, choice);
  activity_.enter(layer_.actor, "prepare");
  if (!op.ok()) return std::move(op).status().at("kernel '", spec.name, "' of '", name_, "'");
  return op;
}

} // namespace dlhost::program
