// The companion of one layer for the device of its program: the plugin "layer@device", loaded when the layer first asks
// for one of its kernels. What it does is noted as its own: a companion that crashes is named, not its layer.
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

  // True for one that is broken too: that is an error, and never passed over.
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
