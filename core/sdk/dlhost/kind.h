// The kinds of plugin. Ten of them manage processes, threads or tensors; the parts (schedule, initializer,
// augmentation) are small functions that options of those ten refer to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <dlhost/visibility.h>

namespace dlhost {

enum class Kind : std::uint8_t {
  layer,
  updater,
  algorithm,
  consistency,
  sync,
  transport,
  rendezvous,
  device,
  codec,
  store,
  schedule,
  initializer,
  augmentation,
  kernel, // a layer's kernels for one device, named "layer@device"
};

DLHOST_API std::span<const Kind> all_kinds();
DLHOST_API std::string_view name_of(Kind);
DLHOST_API std::optional<Kind> kind_named(std::string_view);

// The base class of every object that a plugin makes, through the class of its kind.
class DLHOST_API Plugin {
 public:
  Plugin() = default;
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  virtual ~Plugin();
};

} // namespace dlhost
