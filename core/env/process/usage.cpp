#include "env/process/usage.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sys/resource.h>
#include <unistd.h>

namespace dlhost::env {

// Not getrusage's figure where it can be helped: that one counts what the process was before its exec, too.
namespace {

// A line of what the kernel says of this process, in bytes; 0: it does not say.
std::uint64_t kernel_says(const char* line_format) {
  unsigned long long kilobytes = 0;
  if (FILE* file = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (kilobytes == 0 && std::fgets(line, sizeof line, file))
      if (std::sscanf(line, line_format, &kilobytes) != 1) kilobytes = 0;
    std::fclose(file);
  }
  return kilobytes * 1024;
}

} // namespace

std::uint64_t peak_resident_bytes() {
  if (const std::uint64_t peak = kernel_says("VmHWM: %llu"); peak > 0) return peak;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::uint64_t peak_private_bytes() {
  const std::uint64_t peak = peak_resident_bytes();
  return peak - std::min(peak, kernel_says("RssShmem: %llu"));
}

std::uint64_t resident_bytes() {
  unsigned long long total = 0, resident = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%llu %llu", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

double seconds_without_a_core() {
  unsigned long long all = 0;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    unsigned long long ran = 0, waited = 0;
    if (FILE* file = std::fopen((task.path() / "schedstat").c_str(), "r")) {
      if (std::fscanf(file, "%llu %llu", &ran, &waited) == 2) all += waited;
      std::fclose(file);
    }
  }
  return static_cast<double>(all) * 1e-9;
}

} // namespace dlhost::env
