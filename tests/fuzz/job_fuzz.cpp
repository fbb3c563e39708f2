// Reads any bytes as a job file. Zero bytes divide the job, the file that it may include, and overrides. A job that
// loads must load again, with the same hash, from its written form.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "config/dump.h"
#include "config/load.h"
#include "core/config/fakes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dlhost::config;
  static FakePlugins plugins;
  std::vector<std::string> parts{{}};
  for (std::size_t i = 0; i < size; ++i)
    if (data[i] == 0)
      parts.emplace_back();
    else
      parts.back() += static_cast<char>(data[i]);
  MemoryDisk disk;
  disk.files["job.toml"] = parts[0];
  if (parts.size() > 1) disk.files["base.toml"] = parts[1];
  const std::vector<std::string> overrides(parts.begin() + std::min<std::ptrdiff_t>(2, std::ssize(parts)), parts.end());
  const auto job = load(disk, "job.toml", overrides, plugins);
  if (!job.ok()) {
    if (job.status().message().empty()) std::abort();
    return 0;
  }
  disk.files["again.toml"] = to_toml(*job, "/");
  const auto again = load(disk, "again.toml", {}, plugins);
  if (!again.ok() || job_hash(*again) != job_hash(*job)) std::abort();
  return 0;
}
