// What benchmarks of input share: plugins as a job finds them, and whole epochs drawn from the feeder.
#pragma once

#include <cstdlib>

#include <benchmark/benchmark.h>

#include "env/real_host.h"
#include "plugin/registry.h"
#include "run/input/feeder.h"

namespace dlhost::bench {

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

class Inputs : public env::RealHost {
 public:
  static Inputs& host() {
    static Inputs one;
    return one;
  }

 private:
  Inputs() {
    set_maker([this](Kind kind, const Part& part) { return registry_.make(kind, part.type, part.options); });
  }

  std::vector<plugin::SearchEntry> folders_{{variable("DLHOST_PLUGIN_PATH"), "DLHOST_PLUGIN_PATH"}};
  plugin::Registry registry_{folders_, *this};
};

inline Value value(std::int64_t number) { return {number, {}}; }
inline Value value(std::string text) { return {std::move(text), {}}; }
inline Value values(std::int64_t number) { return {List{value(number)}, {}}; }

// The source, opened.
Result<std::unique_ptr<Source>> open(const std::string& type, Table options);
// Feeds whole epochs of it to so many readers as the range says; the first one, which fills caches, is not measured.
void feed(benchmark::State&, Source&, std::span<const Part> augmentations);

} // namespace dlhost::bench
