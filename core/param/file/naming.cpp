#include "param/file/naming.h"

#include <algorithm>

namespace dlhost::param {

namespace {

std::string replaced(std::string_view pattern, const std::vector<std::string>& parts) {
  std::string name;
  std::size_t next = 0;
  for (const char letter : pattern)
    if (letter == '*' && next < parts.size())
      name += parts[next++];
    else
      name += letter;
  return name;
}

} // namespace

// Only the last star is tried again: whatever an earlier one took, the rest can do no better with more of it.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view name) {
  std::vector<std::string> parts;
  std::size_t p = 0, n = 0, behind_star = 0, begin = 0;
  bool star = false;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = true;
      behind_star = ++p;
      begin = n;
      parts.emplace_back();
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star) {
      parts.back() += name[begin++];
      p = behind_star;
      n = begin;
    } else {
      return {};
    }
  }
  for (; p < pattern.size() && pattern[p] == '*'; ++p) parts.emplace_back();
  if (p != pattern.size()) return {};
  return parts;
}

Naming::Naming(const config::Names& names) : names_(names), renamed_(names.rename.size()), kept_(names.keep.size()) {}

Naming::Theirs Naming::theirs(std::string_view ours) {
  for (const bool exact : {true, false})
    for (std::size_t i = 0; i < names_.rename.size(); ++i) {
      const auto& rename = names_.rename[i];
      const auto parts = match(rename.ours, ours);
      if (!parts || (exact && rename.ours != ours)) continue;
      renamed_[i] = true;
      return {replaced(rename.theirs, *parts), rename.order};
    }
  return {std::string(ours), {}};
}

bool Naming::kept(std::string_view ours) {
  bool any = false;
  for (std::size_t i = 0; i < names_.keep.size(); ++i)
    if (match(names_.keep[i], ours)) any = kept_[i] = true;
  return any;
}

bool Naming::ignored(std::string_view theirs) const {
  return std::ranges::any_of(names_.ignore, [&](const auto& pattern) { return match(pattern, theirs).has_value(); });
}

std::vector<std::string> Naming::unused() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < renamed_.size(); ++i)
    if (!renamed_[i]) names.push_back(names_.rename[i].ours);
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if (!kept_[i]) names.push_back(names_.keep[i]);
  return names;
}

} // namespace dlhost::param
