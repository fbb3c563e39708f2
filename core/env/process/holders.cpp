#include "env/process/holders.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <tuple>

namespace dlhost::env {
namespace {

namespace fs = std::filesystem;

// Processes and their files come and go while they are looked at: what cannot be read is passed over.
void look_at(const fs::path& process, int number, std::string_view file_name, std::vector<Holder>& found) {
  std::error_code gone;
  for (fs::directory_iterator file(process / "fd", gone), end; !gone && file != end; file.increment(gone)) {
    std::error_code closed;
    const fs::path path = fs::read_symlink(file->path(), closed);
    if (!closed && path.filename() == file_name) found.push_back({number, path.string()});
  }
}

} // namespace

std::vector<Holder> holders_of(std::string_view file_name) {
  std::vector<Holder> found;
  std::error_code gone;
  for (fs::directory_iterator process("/proc", gone), end; !gone && process != end; process.increment(gone)) {
    const std::string name = process->path().filename().string();
    int number = 0;
    const char* last = name.data() + name.size();
    if (std::from_chars(name.data(), last, number).ptr == last) look_at(process->path(), number, file_name, found);
  }
  std::ranges::sort(found, {}, [](const Holder& one) { return std::tie(one.path, one.process); });
  return found;
}

} // namespace dlhost::env
