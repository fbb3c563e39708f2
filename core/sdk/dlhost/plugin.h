// The exports of a plugin library: a stamp, and an alias to a descriptor.
//
//   class Cube : public Layer {
//    public:
//     static constexpr std::string_view name = "cube";
//     struct Options {};
//     static Schema schema() { return SchemaOf<Options>("Cubes each element."); }
//     explicit Cube(Options) {}
//     ...
//   };
//   DLHOST_PLUGIN("1.0", Cube);
//
// The macro stands once in a library, outside of every namespace; it may list several classes, of several kinds.
#pragma once

#include <bit>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include <boost/dll/alias.hpp>

#include <dlhost/kind.h>
#include <dlhost/schema.h>
#include <dlhost/stamp.h>

namespace dlhost {

class Host;

// Makes one product of a plugin. `options` was parsed by the product's schema.
struct Factory {
  Kind kind;
  std::string_view name;
  Schema (*schema)();
  // Parses into a fresh Options and constructs. Requires: the table has been checked.
  std::unique_ptr<Plugin> (*create)(const Table& options);
};

struct Descriptor {
  std::size_t size = sizeof(Descriptor);
  std::span<const Factory> factories;
  Status (*init)(Host&) = nullptr;   // called once, before the first product is made
  void (*fini)() noexcept = nullptr; // called once, after the last product is destroyed
};

namespace detail {

template <class T> std::unique_ptr<Plugin> create(const Table& table) {
  typename T::Options options{};
  const auto problems = T::schema().parse(table, &options);
  (void)problems; // the caller has checked; a faulty option keeps its default
  return std::make_unique<T>(std::move(options));
}

template <class T> constexpr Factory factory_of() { return {T::kind, T::name, &T::schema, &create<T>}; }

template <class... T> inline constexpr Factory factories_of[] = {factory_of<T>()...};

constexpr std::string_view stamp_word(Kind kind) {
  switch (kind) {
  case Kind::layer: return "layer:";
  case Kind::updater: return "updater:";
  case Kind::algorithm: return "algorithm:";
  case Kind::consistency: return "consistency:";
  case Kind::sync: return "sync:";
  case Kind::transport: return "transport:";
  case Kind::rendezvous: return "rendezvous:";
  case Kind::device: return "device:";
  case Kind::codec: return "codec:";
  case Kind::store: return "store:";
  case Kind::schedule: return "schedule:";
  case Kind::initializer: return "initializer:";
  case Kind::augmentation: return "augmentation:";
  case Kind::kernel: return "kernel:";
  }
  return "";
}

template <class First, class... Rest> consteval StampNote make_stamp(std::string_view version) {
  Stamp stamp;
  stamp.size = sizeof(Stamp);
  stamp.flags = stamp_flags();
  stamp.isa = stamp_isa();
  stamp_append(stamp.arch, stamp_arch());
  stamp_append(stamp.compiler, stamp_compiler());
  stamp_append(stamp.version, version);
  stamp_append(stamp.name, First::name);
  stamp_append(stamp.provides, stamp_word(First::kind));
  stamp_append(stamp.provides, First::name);
  ((stamp_append(stamp.provides, " "), stamp_append(stamp.provides, stamp_word(Rest::kind)),
    stamp_append(stamp.provides, Rest::name)),
   ...);
  StampNote note;
  note.body = std::bit_cast<std::array<std::byte, sizeof(Stamp)>>(stamp);
  return note;
}

} // namespace detail
} // namespace dlhost

// With hooks: DLHOST_PLUGIN_WITH("1.0", init, fini, Classes...).
#define DLHOST_PLUGIN_WITH(version, init, fini, ...)                                                                   \
  namespace dlhost_plugin_ {                                                                                           \
  extern const ::dlhost::StampNote stamp;                                                                              \
  [[gnu::section(".note.dlhost"), gnu::used]] constinit const ::dlhost::StampNote stamp =                              \
      ::dlhost::detail::make_stamp<__VA_ARGS__>(version);                                                              \
  extern const ::dlhost::Descriptor descriptor;                                                                        \
  const ::dlhost::Descriptor descriptor{sizeof(::dlhost::Descriptor), ::dlhost::detail::factories_of<__VA_ARGS__>,     \
                                        init, fini};                                                                   \
  }                                                                                                                    \
  BOOST_DLL_ALIAS(dlhost_plugin_::descriptor, dlhost_plugin)                                                           \
  static_assert(true)

#define DLHOST_PLUGIN(version, ...) DLHOST_PLUGIN_WITH(version, nullptr, nullptr, __VA_ARGS__)
