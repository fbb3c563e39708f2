#include "plugin/machine.h"

#include <dlfcn.h>
#include <nlohmann/json.hpp>

#include "env/process/machine.h"
#include "plugin/cpu.h"
#include "plugin/libraries.h"

namespace dlhost::plugin {

using nlohmann::json;

namespace {

json describe_cpu() {
  const auto cpu = env::cpu_of_machine();
  return {{"model", cpu.model},
          {"instruction_sets", isa_names(cpu_isa())},
          {"cores", cpu.cores},
          {"cores_usable", cpu.cores_usable},
          {"numa_nodes", cpu.numa_nodes}};
}

json describe_memory() {
  const auto memory = env::memory_of_machine();
  json shown = {{"total_bytes", memory.total_bytes}, {"available_bytes", memory.available_bytes}};
  if (memory.limit_bytes) shown["limit_bytes"] = *memory.limit_bytes;
  return shown;
}

json describe_shared_memory() {
  const auto memory = env::shared_memory_of_machine();
  return {{"path", memory.path}, {"total_bytes", memory.total_bytes}, {"free_bytes", memory.free_bytes}};
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
  for (const auto& fabric : env::fabrics_of_machine()) {
    fabrics.push_back({{"name", fabric.name}, {"kind", fabric.kind}});
    if (fabric.megabits_per_second) fabrics.back()["megabits_per_second"] = *fabric.megabits_per_second;
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
    missing.push_back(env::has_nvidia_files()
                          ? "there are /dev/nvidia* files, but the driver's library gives no GPU: nvidia-smi says why"
                          : "no GPU: one of NVIDIA's, with its driver, would add the cuda device");
  constexpr std::uint64_t small = 1ULL << 30;
  if (machine["shared_memory"]["total_bytes"].get<std::uint64_t>() < small)
    missing.push_back(
        "/dev/shm is smaller than 1 GiB: large models between processes need more (docker run --shm-size, "
        "or mount -o remount,size=... /dev/shm)");
  return missing;
}

} // namespace

json describe_machine(const Catalogue& catalogue) {
  json machine = {{"dlhost", {{"epoch", DLHOST_EPOCH}, {"compiler", dlhost::detail::stamp_compiler()}}},
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
