// The disks of a world's machines: as PosixDisk promises, in memory. What a process does after it was killed fails;
// what it was writing then is not there. Each write to the disk takes a drawn while.
#pragma once

#include <map>

#include <dlhost/host.h>

#include "env/simulated/disk_fault.h"
#include "env/simulated/volume.h"
#include "env/simulated/world.h"

namespace dlhost::env::simulated {

class SimulatedDisk final : public Disk {
 public:
  // `beneath`: what is not there is read from it.
  SimulatedDisk(World& world, Disk* beneath);

  Result<std::unique_ptr<File>> open(const std::string& path) override;
  Result<std::unique_ptr<NewFile>> create(const std::string& path) override;
  Result<std::unique_ptr<LogFile>> open_log(const std::string& path) override;
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  bool exists(const std::string& path) override;

  // Of one machine, from now on.
  void limit(int machine, std::uint64_t bytes) { volumes_[machine].limit(bytes); }
  void put_in(DiskFault fault) { fault_ = fault; }
  // All processes of it have been killed.
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
