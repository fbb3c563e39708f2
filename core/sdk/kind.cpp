#include <dlhost/kind.h>

#include <array>

namespace dlhost {

namespace {

constexpr std::array kinds = {
    Kind::layer,     Kind::updater,     Kind::algorithm,    Kind::consistency, Kind::sync,
    Kind::transport, Kind::rendezvous,  Kind::device,       Kind::codec,       Kind::store,
    Kind::schedule,  Kind::initializer, Kind::augmentation, Kind::kernel,
};

} // namespace

std::span<const Kind> all_kinds() { return kinds; }

std::string_view name_of(Kind kind) {
  switch (kind) {
  case Kind::layer: return "layer";
  case Kind::updater: return "updater";
  case Kind::algorithm: return "algorithm";
  case Kind::consistency: return "consistency";
  case Kind::sync: return "sync";
  case Kind::transport: return "transport";
  case Kind::rendezvous: return "rendezvous";
  case Kind::device: return "device";
  case Kind::codec: return "codec";
  case Kind::store: return "store";
  case Kind::schedule: return "schedule";
  case Kind::initializer: return "initializer";
  case Kind::augmentation: return "augmentation";
  case Kind::kernel: return "kernel";
  }
  return "unknown";
}

std::optional<Kind> kind_named(std::string_view name) {
  for (Kind kind : kinds)
    if (name_of(kind) == name) return kind;
  return std::nullopt;
}

Plugin::~Plugin() = default;

} // namespace dlhost
