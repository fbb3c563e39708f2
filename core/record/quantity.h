// Numbers for people: short, with a unit, and of constant width in redrawn lines.
#pragma once

#include <cstdint>
#include <string>

namespace dlhost::record {

std::string short_number(double); // 0.1234  12.35  1.2e-05  1234567
// The same with trailing zeros, for redrawn lines: 0.2500.
std::string steady_number(double);
std::string short_rate(double);             // 12.3k  4.56M, for "items/s"
std::string short_bytes(std::uint64_t);     // 512 B  1.5 GiB
std::string short_duration(double seconds); // 0.31 s  4.2 s  1:02  1:02:03  2 d 03:04
std::string clock_duration(double seconds); // 0:04  1:02:03, for countdowns
std::size_t width_of(const std::string&);   // in terminal columns; each code point counts as one

} // namespace dlhost::record
