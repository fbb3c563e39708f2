// Reads any bytes as a plugin file, like the checks before the loader.
#include <cstddef>
#include <cstdint>
#include <span>

#include "plugin/stamp.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto stamp = dlhost::plugin::read_stamp(file);
  if (stamp.ok()) (void)dlhost::plugin::judge(*stamp, dlhost::plugin::this_host());
  (void)dlhost::plugin::judge_symbols(file, dlhost::plugin::this_host());
  return 0;
}
