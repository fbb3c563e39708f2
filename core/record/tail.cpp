#include "record/tail.h"

#include <algorithm>

namespace dlhost::record {

std::vector<std::string> last_lines(Disk& disk, const std::string& path) {
  constexpr std::uint64_t enough = 64 * 1024;
  auto file = disk.open(path);
  if (!file.ok()) return {};
  const std::uint64_t size = (*file)->size(), bytes = std::min(size, enough);
  std::string end(bytes, '\0');
  if (!(*file)->read_at(size - bytes, std::as_writable_bytes(std::span(end))).ok()) return {};
  if (bytes < size) end.erase(0, end.find('\n') + 1);
  end.erase(end.rfind('\n') + 1); // drops an unfinished line: still being written, or torn by a kill
  std::vector<std::string> lines;
  while (!end.empty()) {
    end.pop_back();
    const auto begin = end.rfind('\n') + 1;
    lines.push_back(end.substr(begin));
    end.resize(begin);
  }
  return lines;
}

} // namespace dlhost::record
