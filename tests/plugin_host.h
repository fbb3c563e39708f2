// The host of tests that use the build's own plugins, and short constructors of a job file's values.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <dlhost/schema.h>

#include "env/real_host.h"
#include "plugin/registry.h"

namespace dlhost::test {

// The real host, with the plugins of the build's folder, which the test's environment names.
class PluginHost : public env::RealHost {
 public:
  explicit PluginHost(LogLevel lowest = LogLevel::info) : RealHost(lowest) {
    set_maker([this](Kind kind, const Part& part) { return product(kind, part); });
  }

 private:
  Result<std::unique_ptr<Plugin>> product(Kind kind, const Part& part) {
    DLHOST_ASSIGN(const Schema* schema, registry_.schema(kind, part.type));
    if (const auto problems = schema->parse(part.options, nullptr, &registry_); !problems.empty())
      return Status::invalid(problems.front().key, ": ", problems.front().message);
    return registry_.make(kind, part.type, part.options);
  }

  std::vector<plugin::SearchEntry> folders_{{std::getenv("DLHOST_TEST_PLUGINS"), "the test"}};
  plugin::Registry registry_{folders_, *this};
};

inline Value value(std::string text) { return {std::move(text), {}}; }
inline Value value(const char* text) { return {std::string(text), {}}; }
inline Value value(int number) { return {std::int64_t{number}, {}}; }
inline Value value(double number) { return {number, {}}; }
inline Value value(bool truth) { return {truth, {}}; }
template <class T> Value value(std::initializer_list<T> items) {
  List list;
  for (const auto& item : items) list.push_back(value(item));
  return {std::move(list), {}};
}

// Makes a product, or throws.
template <class T> std::unique_ptr<T> make(Host& host, std::string type, std::vector<TableEntry> options = {}) {
  auto made = host.make(T::kind, Part{std::move(type), Table{std::move(options), {}}});
  if (!made.ok()) throw std::runtime_error(made.status().message());
  T* product = dynamic_cast<T*>(made->get());
  if (!product) throw std::runtime_error("a product of another kind");
  (void)made->release();
  return std::unique_ptr<T>(product);
}

} // namespace dlhost::test
