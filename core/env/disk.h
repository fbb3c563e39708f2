// The file system, for real runs. A created file appears whole, by rename after fsync, or not at all.
//
// Thread: any; a NewFile and a LogFile belong to one task at a time.
#pragma once

#include <dlhost/host.h>

namespace dlhost::env {

class PosixDisk : public Disk {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path) override;
  Result<std::unique_ptr<NewFile>> create(const std::string& path) override;
  Result<std::unique_ptr<LogFile>> open_log(const std::string& path) override;
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  bool exists(const std::string& path) override;
};

} // namespace dlhost::env
