// What the kernel says of this machine: for `dlhost inspect host`, and for who has to know what fits into its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlhost::env {

struct Cpu {
  std::string model;
  int cores = 0, cores_usable = 0; // of the machine; by this process
  int numa_nodes = 1;
};
Cpu cpu_of_machine();

struct MemorySizes {
  std::uint64_t total_bytes = 0;
  std::uint64_t available_bytes = 0;        // to this process: what the machine has, within the limit
  std::optional<std::uint64_t> limit_bytes; // of the container, or of another control group that it is in
};
// `root` stands in front of /proc and /sys, for tests.
MemorySizes memory_of_machine(const std::string& root = "");

struct SharedMemory {
  std::string path = "/dev/shm";
  std::uint64_t total_bytes = 0, free_bytes = 0; // 0: it is not mounted
};
SharedMemory shared_memory_of_machine();

// That this user may still fill, of the disk that `path`, or the nearest folder above it that exists, lies on; none:
// the kernel does not say.
std::optional<std::uint64_t> free_bytes_of_disk(const std::string& path);

struct Fabric {
  std::string name, kind;
  std::optional<std::uint64_t> megabits_per_second;
};
std::vector<Fabric> fabrics_of_machine();

// The files of NVIDIA's kernel driver: there is a GPU, whether or not its libraries are there.
bool has_nvidia_files();

} // namespace dlhost::env
