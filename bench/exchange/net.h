// What the sum is of: a param of so many elements, as a worker's store has it.
#pragma once

#include <array>
#include <memory>

#include "param/store/store.h"
#include "plugin/registry.h"

namespace dlhost::bench {

class Net {
 public:
  Net(plugin::Registry&, std::int64_t elements);

  param::Store& store() { return store_; }
  const Updater& updater() const { return *updater_; }
  const Updater::Rule& rule() const { return rule_; }
  std::span<const std::int64_t> elements() const { return elements_; } // of each param

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Updater> updater_;
  Updater::Rule rule_;
  param::Store store_;
  std::array<std::int64_t, 1> elements_;
};

} // namespace dlhost::bench
