#include "tools/sweep/space.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include <dlhost/random.h>

namespace dlhost::tools {

namespace {

constexpr std::size_t most_trials = 100'000;

bool read_number(std::string_view text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(number);
}

bool is_whole(std::string_view text) { return text.find_first_of(".eE") == std::string_view::npos; }

// Splits at commas outside of brackets, braces and quotes.
std::vector<std::string> values_in(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      values.emplace_back();
      continue;
    }
    values.back() += c;
  }
  return values;
}

std::string drawn(const Varied& varied, Random& random) {
  if (!varied.values.empty()) return varied.values[random.below(static_cast<std::uint32_t>(varied.values.size()))];
  constexpr double wide = 10;
  const double part = random.uniform();
  const bool by_logarithm = varied.from > 0 && varied.to >= wide * varied.from;
  const double value = by_logarithm ? varied.from * std::pow(varied.to / varied.from, part)
                                    : varied.from + part * (varied.to - varied.from);
  return varied.whole ? fmt::format("{}", std::llround(value)) : fmt::format("{:.4g}", value);
}

} // namespace

Result<Varied> parse_varied(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return Status::invalid("--vary ", text,
                           ": must be KEY=VALUE,VALUE,... or KEY=FROM..TO, such as updater.rate=0.1,0.03");
  Varied varied{.key = text.substr(0, equals), .values = {}};
  const std::string values = text.substr(equals + 1);
  const auto dots = values.find("..");
  if (dots != std::string::npos && read_number(std::string_view(values).substr(0, dots), varied.from) &&
      read_number(std::string_view(values).substr(dots + 2), varied.to)) {
    varied.whole =
        is_whole(std::string_view(values).substr(0, dots)) && is_whole(std::string_view(values).substr(dots + 2));
    if (varied.to > varied.from) return varied;
    return Status::invalid("--vary ", text, ": the range ends before it begins");
  }
  varied.values = values_in(values);
  for (const auto& value : varied.values)
    if (value.empty()) return Status::invalid("--vary ", text, ": one of the values is empty");
  return varied;
}

Result<std::vector<std::vector<std::string>>> trials_of(const std::vector<Varied>& all, std::size_t random,
                                                        std::uint64_t seed) {
  std::vector<std::vector<std::string>> trials;
  if (random > 0) {
    if (random > most_trials) return Status::invalid("--random ", random, ": at most ", most_trials);
    for (std::size_t trial = 0; trial < random; ++trial) {
      Random draws({seed, 0}, 0, static_cast<std::uint32_t>(trial));
      auto& set = trials.emplace_back();
      for (const auto& varied : all) set.push_back(concat(varied.key, "=", drawn(varied, draws)));
    }
    return trials;
  }
  trials.emplace_back();
  for (const auto& varied : all) {
    if (varied.values.empty())
      return Status::invalid("--vary ", varied.key, " is a range: give the number of draws (--random 20)");
    if (trials.size() * varied.values.size() > most_trials)
      return Status::invalid("there are more than ", most_trials, " combinations: draw some of them (--random 20)");
    std::vector<std::vector<std::string>> longer;
    for (const auto& set : trials)
      for (const auto& value : varied.values) {
        longer.push_back(set);
        longer.back().push_back(concat(varied.key, "=", value));
      }
    trials = std::move(longer);
  }
  return trials;
}

} // namespace dlhost::tools
