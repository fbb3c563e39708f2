// The kernel's facts about this machine, for `dlhost inspect host` and for memory limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlhost::env {

struct Cpu {
  std::string model;
  int cores = 0, cores_usable = 0; // of the machine; usable by this process
  int numa_nodes = 1;
};
Cpu cpu_of_machine();

struct MemorySizes {
  std::uint64_t total_bytes = 0;
  std::uint64_t available_bytes = 0;        // for this process: the machine's free memory, within the limit
  std::optional<std::uint64_t> limit_bytes; // of the container or another control group of this process
};
// `root`: a prefix to /proc and /sys, for tests.
MemorySizes memory_of_machine(const std::string& root = "");

struct SharedMemory {
  std::string path = "/dev/shm";
  std::uint64_t total_bytes = 0, free_bytes = 0; // 0: not mounted
};
SharedMemory shared_memory_of_machine();

// Free bytes for this user on the disk of `path`, or of the nearest existing folder above it; none: unknown.
std::optional<std::uint64_t> free_bytes_of_disk(const std::string& path);

struct Fabric {
  std::string name, kind;
  std::optional<std::uint64_t> megabits_per_second;
};
std::vector<Fabric> fabrics_of_machine();

// Whether the files of NVIDIA's kernel driver exist: then there is a GPU, even without its libraries.
bool has_nvidia_files();

} // namespace dlhost::env
