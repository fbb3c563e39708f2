// The companion of a layer for the program's device: the plugin "layer@device", loaded when the layer first asks for a
// kernel. Its calls are noted as its own, so that a crash names the companion, not the layer.
#pragma once

#include <memory>
#include <string>

#include <dlhost/kernel.h>

#include "net/graph.h"
#include "plugin/activity.h"
#include "plugin/registry.h"

namespace dlhost::program {

class Companion {
 public:
  Companion(plugin::Registry&, plugin::Activity&, const net::Node& layer, const std::string& device_type);

  // True also for a broken companion: then preparing fails, instead of falling back.
  bool exists() const;
  Result<std::unique_ptr<Op>> prepare(Device&, const KernelSpec&, const Choice&);

 private:
  Status load();

  plugin::Registry& registry_;
  plugin::Activity& activity_;
  const net::Node& layer_;
  std::string name_;
  const plugin::Actor* actor_ = nullptr;
  std::unique_ptr<Kernels> kernels_;
};

} // namespace dlhost::program
