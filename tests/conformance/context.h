// The input of every suite of dlhost-conform: a host, the plugins, and the command line's settings. Suites register
// their tests before any runs; the context outlives them all.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/device.h>
#include <dlhost/host.h>
#include <dlhost/schema.h>

#include "plugin/registry.h"

namespace dlhost::conform {

inline constexpr Nanoseconds patience = 20'000'000'000; // for the other side's actions

struct Context {
  Host& host;
  plugin::Registry& registry;
  Table options;                     // for the products under test
  std::string device;                // runs the tests of other kinds: "ref" or --device's value
  Table device_options;              // for that device
  std::string case_file;             // --case: cases that only a product's author knows
  std::string url;                   // --url: where stores may write
  std::uint64_t seed = 1;            // of all values; printed, so that a failure can be repeated
  std::vector<std::string> declined; // --declines: ops that the device under test may refuse as unsupported

  bool may_decline(const OpSpec& spec) const { return std::ranges::find(declined, name_of(spec)) != declined.end(); }

  // Makes a product with the given options, checked against its schema. Errors: throws.
  template <class T> std::unique_ptr<T> make(std::string_view name, Table table) const {
    check(T::kind, name, table);
    auto made = registry.create<T>(name, table);
    if (!made.ok()) refuse(T::kind, name, made.status());
    return *std::move(made);
  }
  // The reference for all results: loops in f64.
  std::unique_ptr<Device> oracle() const;
  std::unique_ptr<Device> chosen_device() const { return make<Device>(device, device_options); }

 private:
  void check(Kind, std::string_view name, Table&) const;
  [[noreturn]] static void refuse(Kind, std::string_view name, const Status&);
};

// The suites, by kind. Each registers its tests for one product.
void register_device_suite(const Context&, const std::string& name);

} // namespace dlhost::conform
