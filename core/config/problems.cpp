#include "config/problems.h"

#include <algorithm>
#include <tuple>

#include <dlhost/nearest.h>

namespace dlhost::config {

std::string to_string(const Location& where) {
  if (!where.file) return {};
  if (where.line == 0) return *where.file;
  return concat(*where.file, ":", where.line, ":", where.column);
}

// The nets of several phases are wrong in the same way.
void Problems::note(Problem problem) {
  const auto same = [&](const Problem& other) {
    return other.message == problem.message && to_string(other.where) == to_string(problem.where);
  };
  if (std::ranges::none_of(list_, same)) list_.push_back(std::move(problem));
}

void Problems::of_schema(const Schema& schema, std::vector<Problem> found, std::string_view path,
                         std::span<const std::string_view> also) {
  const std::string front = path.empty() ? "" : concat(path, ".");
  std::vector<std::string> known(also.begin(), also.end());
  for (const auto& option : schema.options()) known.push_back(option.name);
  for (auto& problem : found) {
    const std::string top = problem.key.substr(0, problem.key.find('.'));
    if (const std::string meant = nearest(top, known); !meant.empty()) refuse(front + meant);
    of_key(front + problem.key, problem.where, problem.message);
  }
}

bool Problems::refused(std::string_view key) const {
  const auto is_in = [](std::string_view inner, std::string_view outer) {
    return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '.');
  };
  return std::ranges::any_of(keys_, [&](std::string_view wrong) { return is_in(wrong, key) || is_in(key, wrong); });
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
