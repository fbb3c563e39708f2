#include <dlhost/nearest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include <dlhost/status.h>

namespace dlhost {

std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before(to.size() + 1), last(to.size() + 1), row(to.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      row[j + 1] = std::min({row[j] + 1, last[j + 1] + 1, last[j] + (from[i] == to[j] ? 0 : 1)});
      if (i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j])
        row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[to.size()];
}

namespace {

std::string folded(std::string_view name) {
  std::string text(name);
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if (letter == '-') letter = '_';
  }
  return text;
}

// Long lists are cut, so that the error about a net of a thousand layers stays readable.
constexpr std::size_t listed_at_most = 40;

} // namespace

std::string nearest(std::string_view name, std::span<const std::string> known) {
  constexpr std::size_t sane_length = 128; // the distance costs length squared, and the name may be any text
  if (name.empty() || name.size() > sane_length) return {};
  const std::string wanted = folded(name);
  std::size_t best_distance = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  std::string best;
  for (const auto& candidate : known) {
    if (candidate.size() > sane_length) continue;
    const std::string other = folded(candidate);
    std::size_t distance = edit_distance(wanted, other);
    // A common beginning counts as near: "weight" for "weight_decay".
    if (wanted.size() >= 3 && other.starts_with(wanted)) distance = std::min<std::size_t>(distance, 1);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string> known) {
  if (known.empty()) return "there are none";
  std::vector<std::string> sorted(known.begin(), known.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::string list;
  for (std::size_t i = 0; i < std::min(sorted.size(), listed_at_most); ++i)
    list += concat(list.empty() ? "" : ", ", sorted[i]);
  if (sorted.size() > listed_at_most) list += concat(" and ", sorted.size() - listed_at_most, " more");
  const std::string guess = nearest(name, sorted);
  if (guess.empty()) return concat("known: ", list);
  return concat("did you mean '", guess, "'? (known: ", list, ")");
}

} // namespace dlhost
