#include "pairs.h"

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dlhost::bench {

namespace {

struct Close {
  void operator()(std::FILE* pipe) const { pclose(pipe); }
};

std::string said(std::FILE* pipe) {
  std::string text;
  char piece[4096];
  while (const std::size_t more = std::fread(piece, 1, sizeof piece, pipe)) text.append(piece, more);
  return text;
}

} // namespace

double delivered_by(const std::string& program, const std::string& transport, std::size_t bytes, double seconds,
                    int pairs) {
  const std::string command = fmt::format("exec '{}' --transport {} --size {} --seconds {} --lasting --json", program,
                                          transport, bytes, seconds);
  std::vector<std::unique_ptr<std::FILE, Close>> running;
  for (int pair = 0; pair < pairs; ++pair) running.emplace_back(popen(command.c_str(), "re"));
  double sum = 0;
  for (const auto& pipe : running) {
    if (!pipe) throw std::runtime_error("cannot start " + program);
    const auto row = nlohmann::json::parse(said(pipe.get()), nullptr, false);
    if (!row.is_object()) throw std::runtime_error(fmt::format("one of {} pairs failed", pairs));
    sum += row.at("gigabytes_per_second").get<double>() * 1e9;
  }
  return sum;
}

} // namespace dlhost::bench
