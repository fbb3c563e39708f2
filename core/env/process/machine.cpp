#include "env/process/machine.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include <sched.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace dlhost::env {

namespace fs = std::filesystem;

namespace {

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value behind "name<spaces>:", or behind "name ", in a file such as /proc/cpuinfo.
std::string value_in(const fs::path& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const auto value = line.find_first_not_of(" \t:", name.size());
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

// The number in front; nothing for "max", "-1" or an empty file.
std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::vector<std::string> names_in(const fs::path& folder, std::string_view prefix) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (auto name = entry->path().filename().string(); name.starts_with(prefix)) names.push_back(std::move(name));
  std::ranges::sort(names);
  return names;
}

// How the two versions of control groups call what they tell of memory.
struct GroupNames {
  const char *limit, *used, *cached;
};
constexpr GroupNames version_1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "};
constexpr GroupNames version_2 = {"memory.max", "memory.current", "inactive_file "};

struct ControlGroup {
  std::string folder;
  GroupNames names;
};

// Those that limit this process: its own and all above it. In a container the path is often that of outside, and only
// the topmost of them is to be seen.
std::vector<ControlGroup> control_groups(const std::string& root) {
  std::vector<ControlGroup> groups;
  std::ifstream file(root + "/proc/self/cgroup"); // "0::/user.slice/..." or "4:memory:/docker/..."
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const bool one = controllers == "memory";
    if (!one && !controllers.empty()) continue;
    for (fs::path path = line.substr(second + 1);; path = path.parent_path()) {
      const auto below = path.relative_path().string();
      groups.push_back(
          {root + (one ? "/sys/fs/cgroup/memory/" : "/sys/fs/cgroup/") + below, one ? version_1 : version_2});
      if (below.empty()) break;
    }
  }
  return groups;
}

// Not every architecture names its model.
std::string model_of_cpu() {
  if (auto model = value_in("/proc/cpuinfo", "model name"); !model.empty()) return model;
  utsname system{};
  return uname(&system) == 0 ? system.machine : "";
}

} // namespace

Cpu cpu_of_machine() {
  cpu_set_t usable;
  const bool known = sched_getaffinity(0, sizeof usable, &usable) == 0;
  const auto cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const auto nodes = std::ranges::count_if(names_in("/sys/devices/system/node", "node"), [](const std::string& name) {
    return number_in(name.substr(4)).has_value();
  });
  return {.model = model_of_cpu(),
          .cores = cores,
          .cores_usable = known ? CPU_COUNT(&usable) : cores,
          .numa_nodes = std::max(1, static_cast<int>(nodes))};
}

MemorySizes memory_of_machine(const std::string& root) {
  const auto bytes = [&](std::string_view name) { // "123 kB"
    return number_in(value_in(root + "/proc/meminfo", name)).value_or(0) * 1024;
  };
  MemorySizes memory{.total_bytes = bytes("MemTotal"), .available_bytes = bytes("MemAvailable"), .limit_bytes = {}};
  for (const auto& group : control_groups(root)) {
    const auto limit = number_in(first_line(group.folder + "/" + group.names.limit));
    if (!limit || *limit >= memory.total_bytes) continue;
    memory.limit_bytes = std::min(*limit, memory.limit_bytes.value_or(*limit));
    // Files that are only cached count as used, but make room.
    const auto used = number_in(first_line(group.folder + "/" + group.names.used)).value_or(0);
    const auto cached = number_in(value_in(group.folder + "/memory.stat", group.names.cached)).value_or(0);
    const auto held = used - std::min(used, cached);
    memory.available_bytes = std::min(memory.available_bytes, *limit - std::min(*limit, held));
  }
  return memory;
}

SharedMemory shared_memory_of_machine() {
  SharedMemory memory;
  struct statvfs about {};
  if (statvfs(memory.path.c_str(), &about) == 0) {
    memory.total_bytes = std::uint64_t{about.f_blocks} * about.f_frsize;
    memory.free_bytes = std::uint64_t{about.f_bavail} * about.f_frsize;
  }
  return memory;
}

std::optional<std::uint64_t> free_bytes_of_disk(const std::string& path) {
  std::error_code ignored;
  fs::path folder = fs::absolute(path, ignored);
  while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  struct statvfs about {};
  if (statvfs(folder.c_str(), &about) != 0 || about.f_blocks == 0) return {};
  return std::uint64_t{about.f_bavail} * about.f_frsize;
}

std::vector<Fabric> fabrics_of_machine() {
  std::vector<Fabric> fabrics;
  for (auto& name : names_in("/sys/class/infiniband", "")) fabrics.push_back({name, "infiniband or roce", {}});
  for (auto& name : names_in("/sys/class/cxi", "")) fabrics.push_back({name, "slingshot", {}});
  for (auto& name : names_in("/sys/class/net", "")) {
    const fs::path folder = fs::path("/sys/class/net") / name;
    std::error_code ignored;
    const bool device = fs::exists(folder / "device", ignored);
    fabrics.push_back({name,
                       name == "lo" ? "loopback"
                       : device     ? "ethernet"
                                    : "virtual",
                       number_in(first_line(folder / "speed"))});
  }
  return fabrics;
}

bool has_nvidia_files() { return !names_in("/dev", "nvidia").empty(); }

} // namespace dlhost::env
