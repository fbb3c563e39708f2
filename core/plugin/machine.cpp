#include "plugin/machine.h"

#include <filesystem>
#include <fstream>
#include <optional>

#include <dlfcn.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "plugin/cpu.h"
#include "plugin/libraries.h"

namespace dlhost::plugin {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value behind "name<spaces>:" in a file such as /proc/cpuinfo.
std::string value_in(const fs::path& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const auto value = line.find_first_not_of(" \t", line.find(':') + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

std::vector<std::string> names_in(const fs::path& folder, std::string_view prefix) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (auto name = entry->path().filename().string(); name.starts_with(prefix)) names.push_back(std::move(name));
  std::ranges::sort(names);
  return names;
}

json describe_cpu() {
  cpu_set_t usable;
  const bool known = sched_getaffinity(0, sizeof usable, &usable) == 0;
  return {{"model", value_in("/proc/cpuinfo", "model name")},
          {"instruction_sets", isa_names(cpu_isa())},
          {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
          {"cores_usable", known ? CPU_COUNT(&usable) : sysconf(_SC_NPROCESSORS_ONLN)},
          {"numa_nodes", std::max<std::size_t>(1, names_in("/sys/devices/system/node", "node").size())}};
}

json describe_memory() {
  const auto bytes = [](std::string_view name) {
    const auto text = value_in("/proc/meminfo", name); // "123 kB"
    return text.empty() ? 0 : std::stoull(text) * 1024;
  };
  json memory = {{"total_bytes", bytes("MemTotal")}, {"available_bytes", bytes("MemAvailable")}};
  // What a container may use.
  const auto limit = first_line("/sys/fs/cgroup/memory.max");
  if (!limit.empty() && limit != "max") memory["limit_bytes"] = std::stoull(limit);
  return memory;
}

json describe_shared_memory() {
  struct statvfs about {};
  if (statvfs("/dev/shm", &about) != 0) return {{"path", "/dev/shm"}, {"total_bytes", 0}, {"free_bytes", 0}};
  return {{"path", "/dev/shm"},
          {"total_bytes", std::uint64_t{about.f_blocks} * about.f_frsize},
          {"free_bytes", std::uint64_t{about.f_bavail} * about.f_frsize}};
}

// Asks the driver, where there is one, as any program may; no header of it is needed for that.
json describe_gpus() {
  json gpus = json::array();
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!driver) return gpus;
  const auto function = [&]<class F>(const char* name, F*& into) {
    return (into = reinterpret_cast<F*>(dlsym(driver, name))) != nullptr;
  };
  int (*init)(unsigned) = nullptr;
  int (*count_of)(int*) = nullptr;
  int (*name_of_device)(char*, int, int) = nullptr;
  int (*memory_of)(std::size_t*, int) = nullptr;
  int count = 0;
  if (!function("cuInit", init) || !function("cuDeviceGetCount", count_of) ||
      !function("cuDeviceGetName", name_of_device) || !function("cuDeviceTotalMem_v2", memory_of) || init(0) != 0 ||
      count_of(&count) != 0)
    return gpus;
  for (int device = 0; device < count; ++device) {
    char name[128] = "";
    std::size_t bytes = 0;
    name_of_device(name, sizeof name - 1, device);
    memory_of(&bytes, device);
    gpus.push_back({{"name", name}, {"memory_bytes", bytes}});
  }
  return gpus;
}

json describe_fabrics() {
  json fabrics = json::array();
  for (const auto& name : names_in("/sys/class/infiniband", ""))
    fabrics.push_back({{"name", name}, {"kind", "infiniband or roce"}});
  for (const auto& name : names_in("/sys/class/cxi", "")) fabrics.push_back({{"name", name}, {"kind", "slingshot"}});
  for (const auto& name : names_in("/sys/class/net", "")) {
    json fabric = {{"name", name}, {"kind", name == "lo" ? "loopback" : "ethernet"}};
    const auto speed = first_line(fs::path("/sys/class/net") / name / "speed");
    if (!speed.empty() && speed[0] != '-') fabric["megabits_per_second"] = std::stoull(speed);
    fabrics.push_back(std::move(fabric));
  }
  return fabrics;
}

json missing_pieces(const json& machine) {
  json missing = json::array();
  for (const auto& library : machine["libraries"])
    if (!library["found"])
      missing.push_back(concat(library["name"].get<std::string>(), " (", library["file"].get<std::string>(),
                               "): would add ", library["for"].get<std::string>()));
  if (machine["gpus"].empty())
    missing.push_back(names_in("/dev", "nvidia").empty()
                          ? "no GPU: one of NVIDIA's, with its driver, would add the cuda device"
                          : "there are /dev/nvidia* files, but the driver's library gives no GPU: nvidia-smi says why");
  constexpr std::uint64_t small = 1ULL << 30;
  if (machine["shared_memory"]["total_bytes"].get<std::uint64_t>() < small)
    missing.push_back(
        "/dev/shm is smaller than 1 GiB: large models between processes need more (docker run --shm-size, "
        "or mount -o remount,size=... /dev/shm)");
  return missing;
}

} // namespace

json describe_machine(const Catalogue& catalogue) {
  json machine = {{"dlhost", {{"epoch", DLHOST_EPOCH}, {"compiler", detail::stamp_compiler()}}},
                  {"cpu", describe_cpu()},
                  {"memory", describe_memory()},
                  {"shared_memory", describe_shared_memory()},
                  {"gpus", describe_gpus()},
                  {"fabrics", describe_fabrics()},
                  {"libraries", describe_libraries(catalogue)}};
  machine["missing"] = missing_pieces(machine);
  return machine;
}

} // namespace dlhost::plugin
