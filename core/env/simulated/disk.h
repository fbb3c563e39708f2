// The disks of a simulated world's machines: PosixDisk's promises, in memory. A killed process' calls fail, and its
// unfinished files vanish. Each sync takes a random time.
#pragma once

#include <map>

#include <dlhost/host.h>

#include "env/simulated/disk_fault.h"
#include "env/simulated/volume.h"
#include "env/simulated/world.h"

namespace dlhost::env::simulated {

class SimulatedDisk final : public Disk {
 public:
  // `beneath`: a disk for reading files that this one lacks; null: none.
  SimulatedDisk(World& world, Disk* beneath);

  Result<std::unique_ptr<File>> open(const std::string& path) override;
  Result<std::unique_ptr<NewFile>> create(const std::string& path) override;
  Result<std::unique_ptr<LogFile>> open_log(const std::string& path) override;
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  bool exists(const std::string& path) override;

  // Limits one machine's disk from now on.
  void limit(int machine, std::uint64_t bytes) { volumes_[machine].limit(bytes); }
  void put_in(DiskFault fault) { fault_ = fault; }
  // The machine stops. Requires: all its processes have been killed.
  void crash(int machine);

 private:
  Volume& here() { return volumes_[world_.machine()]; }
  Status parent_of(const std::string& path, const std::string& given, const char* doing);

  World& world_;
  Disk* beneath_;
  DiskFault fault_ = DiskFault::none;
  std::map<int, Volume> volumes_; // by machine
};

} // namespace dlhost::env::simulated
