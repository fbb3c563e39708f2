#include "config/problems.h"

#include <algorithm>
#include <tuple>

namespace dlhost::config {

std::string to_string(const Location& where) {
  if (!where.file) return {};
  if (where.line == 0) return *where.file;
  return concat(*where.file, ":", where.line, ":", where.column);
}

void Problems::add(std::vector<Problem> found, std::string_view path, std::string_view suffix) {
  for (auto& problem : found) {
    const std::string dot = path.empty() || problem.key.empty() ? "" : ".";
    std::string place = concat(path, dot, problem.key);
    if (!place.empty()) place += ": ";
    list_.push_back({problem.where, {}, concat(place, problem.message, suffix)});
  }
}

Status Problems::status() const {
  if (list_.empty()) return {};
  // Files in the order in which they first come up, lines in the order of the file.
  std::vector<const std::string*> files;
  const auto file_of = [&](const Problem& problem) {
    const auto same = [&](const std::string* file) {
      return file == problem.where.file.get() || (file && problem.where.file && *file == *problem.where.file);
    };
    const auto found = std::ranges::find_if(files, same);
    if (found == files.end()) files.push_back(problem.where.file.get());
    return std::ranges::find_if(files, same) - files.begin();
  };
  struct Line {
    std::ptrdiff_t file;
    const Problem* problem;
  };
  std::vector<Line> lines;
  for (const auto& problem : list_) lines.push_back({file_of(problem), &problem});
  std::ranges::stable_sort(lines, {}, [](const Line& line) {
    return std::tuple(line.file, line.problem->where.line, line.problem->where.column);
  });
  std::string text;
  for (const auto& [file, problem] : lines) {
    const std::string place = to_string(problem->where);
    text += concat(text.empty() ? "" : "\n", place, place.empty() ? "" : ": ", problem->message);
  }
  return Status::invalid(text);
}

} // namespace dlhost::config
