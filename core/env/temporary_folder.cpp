#include "env/temporary_folder.h"

#include <cerrno>
#include <filesystem>

#include <stdlib.h>

namespace dlhost::env {

Result<TemporaryFolder> TemporaryFolder::make(const std::string& prefix) {
  std::error_code unknown;
  const auto place = std::filesystem::temp_directory_path(unknown);
  if (unknown) return Status::io("there is no folder for temporary files (", unknown.message(), "): set TMPDIR");
  std::string path = (place / (prefix + "XXXXXX")).string();
  if (!::mkdtemp(path.data())) return Status::system(errno, concat("make a folder in ", place.string()));
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored; // what cannot be removed is the system's to clean
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

} // namespace dlhost::env
