#include "record/quantity.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace dlhost::record {

namespace {

// `usual`: the format of numbers with decimals and without exponent.
std::string number_text(double number, fmt::format_string<double&> usual) {
  const double size = std::abs(number);
  if (!std::isfinite(number)) return fmt::format("{}", number);
  if (number == 0) return "0";
  if (size < 1e-3 || size >= 1e7) return fmt::format("{:.2e}", number);
  if (size >= 1000) return fmt::format("{:.0f}", number);
  return fmt::format(usual, number);
}

} // namespace

std::string short_number(double number) { return number_text(number, "{:.4g}"); }

std::string steady_number(double number) { return number_text(number, "{:#.4g}"); }

std::string short_rate(double number) {
  if (!std::isfinite(number)) return fmt::format("{}", number);
  const char* unit = "";
  for (const char* next : {"k", "M", "G", "T"}) {
    if (std::abs(number) < 999.5) break;
    number /= 1000;
    unit = next;
  }
  return fmt::format("{:.3g}{}", number, unit);
}

std::string short_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double number = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (number < 999.5) break;
    number /= 1024;
    unit = next;
  }
  return fmt::format("{:.3g} {}", number, unit);
}

std::string clock_duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const auto days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
  if (days > 0) return fmt::format("{} d {:02}:{:02}", days, hours, minutes);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string short_duration(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.2g} s", std::max(seconds, 0.0));
  if (seconds < 59.5) return fmt::format("{:.0f} s", seconds);
  return clock_duration(seconds);
}

std::size_t width_of(const std::string& text) {
  // Counts all bytes except UTF-8 continuation bytes.
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

} // namespace dlhost::record
