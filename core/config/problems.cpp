#include "config/problems.h"

#include <algorithm>
#include <tuple>

#include <dlhost/nearest.h>

namespace dlhost::config {

namespace {

constexpr std::size_t listed_of_a_kind = 20;
constexpr std::size_t listed = 1000;
constexpr std::size_t longest_message = 4096;
// Limit for pairs of letters compared for all suggestions: about a second.
constexpr std::size_t most_letters = 100'000'000;

std::size_t letters_of(std::span<const std::string> names) {
  std::size_t letters = 0;
  for (const auto& name : names) letters += name.size() + 1;
  return letters;
}

// The common part of messages of one kind, without names, numbers and paths: "layer 'a': units: must be at least 1, but
// is 0" gives "must be at least #, but is #".
std::string kind_of(std::string_view message) {
  std::string kind;
  char quote = 0;
  for (const char letter : message) {
    const bool opens = letter == '"' || (letter == '\'' && (kind.empty() || kind.back() == ' ' || kind.back() == '('));
    if (quote != 0) {
      if (letter == quote) quote = 0;
    } else if (opens) {
      quote = letter;
    } else if (letter == ';' || letter == '\n') {
      break;
    } else if (letter >= '0' && letter <= '9') {
      if (kind.empty() || kind.back() != '#') kind += '#';
    } else {
      kind += letter;
    }
  }
  if (const auto colon = kind.rfind(": "); colon != std::string::npos) kind.erase(0, colon + 2);
  while (kind.ends_with(' ')) kind.pop_back();
  return kind;
}

// Makes a message fit for terminals: cuts it if long and replaces control characters.
std::string shown(std::string message) {
  if (message.size() > longest_message) {
    std::size_t end = longest_message;
    while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end; // not inside a character
    message = concat(std::string_view(message).substr(0, end), " ... (", message.size() - end, " bytes more)");
  }
  for (char& letter : message)
    if ((static_cast<unsigned char>(letter) < 0x20 && letter != '\n' && letter != '\t') || letter == 0x7f) letter = '?';
  return message;
}

} // namespace

std::string to_string(const Location& where) {
  if (!where.file) return {};
  if (where.line == 0) return *where.file;
  return concat(*where.file, ":", where.line, ":", where.column);
}

std::string Problems::suggest(std::string_view name, std::span<const std::string> known) {
  if (letters_compared_ > most_letters) return "too many names are unknown to look for the nearest of each";
  letters_compared_ += (name.size() + 20) * letters_of(known); // 20: sorting them
  return suggestion(name, known);
}

// Skips duplicates: the nets of several phases have the same faults.
void Problems::note(Problem problem) {
  problem.message = shown(std::move(problem.message));
  const std::size_t hash = std::hash<std::string>()(concat(to_string(problem.where), "\n", problem.message));
  if (!seen_.insert(hash).second) return;
  ++count_;
  const std::string kind = kind_of(problem.message);
  if (list_.size() < listed || kinds_.contains(kind)) {
    std::size_t& of_kind = kinds_[kind];
    if (++of_kind > listed_of_a_kind) return;
    list_.push_back(std::move(problem));
  } else {
    ++others_;
  }
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
  for (auto around = key;; around = around.substr(0, around.rfind('.'))) {
    if (keys_.contains(around)) return true;
    if (around.find('.') == std::string_view::npos) break;
  }
  const std::string inside = concat(key, ".");
  const auto first = keys_.lower_bound(inside);
  return first != keys_.end() && first->starts_with(inside);
}

Status Problems::status() const {
  if (list_.empty()) return {};
  // Files in the order of their first problem, lines in the order of the file.
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
  std::map<std::string, std::size_t, std::less<>> told;
  for (const auto& [file, problem] : lines) {
    const std::string place = to_string(problem->where);
    text += concat(text.empty() ? "" : "\n", place, place.empty() ? "" : ": ", problem->message);
    const auto kind = kinds_.find(kind_of(problem->message));
    if (++told[kind->first] != listed_of_a_kind || kind->second == listed_of_a_kind) continue;
    const std::string name = problem->where.file ? concat(*problem->where.file, ": ") : "";
    text += concat("\n", name, "and ", kind->second - listed_of_a_kind, " more of this kind: ", kind->first);
  }
  if (others_ > 0) text += concat("\n", others_, " more problems, of other kinds");
  return Status::invalid(text);
}

} // namespace dlhost::config
