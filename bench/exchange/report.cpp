#include "exchange/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plots.h"

namespace dlhost::bench {

void Curve::take(const Row& row) {
  const auto known = std::ranges::find(rows, row.bytes, &Row::bytes);
  if (known == rows.end()) return rows.push_back(row);
  *known = {row.bytes, std::min(known->seconds, row.seconds), std::min(known->p50, row.p50),
            std::min(known->p99, row.p99)};
}

double Curve::bytes_per_second(const Row& row) const {
  return 2.0 * (nodes - 1) / nodes * static_cast<double>(row.bytes) / row.seconds;
}

std::string as_text(const std::vector<Curve>& curves) {
  std::string text = fmt::format("{:<14}{:>6}{:>12}{:>14}{:>12}{:>12}{:>16}\n", "sync", "nodes", "bytes", "us", "p50",
                                 "p99", "GB/s a node");
  for (const Curve& curve : curves)
    for (const Row& row : curve.rows)
      text += fmt::format("{:<14}{:>6}{:>12}{:>14.1f}{:>12.1f}{:>12.1f}{:>16.3f}\n", curve.sync, curve.nodes, row.bytes,
                          row.seconds * 1e6, row.p50 * 1e6, row.p99 * 1e6, curve.bytes_per_second(row) * 1e-9);
  return text;
}

std::string as_json(const std::vector<Curve>& curves) {
  std::string text;
  for (const Curve& curve : curves)
    for (const Row& row : curve.rows)
      text += nlohmann::json{{"sync", curve.sync},
                             {"nodes", curve.nodes},
                             {"bytes", row.bytes},
                             {"us", row.seconds * 1e6},
                             {"us_50", row.p50 * 1e6},
                             {"us_99", row.p99 * 1e6},
                             {"gigabytes_per_second", curve.bytes_per_second(row) * 1e-9}}
                  .dump() +
              "\n";
  return text;
}

std::string as_csv(const std::vector<Curve>& curves) {
  std::string text = "sync,nodes,bytes,us,us_50,us_99,gigabytes_per_second\n";
  for (const Curve& curve : curves)
    for (const Row& row : curve.rows)
      text += fmt::format("{},{},{},{:.3f},{:.3f},{:.3f},{:.6f}\n", curve.sync, curve.nodes, row.bytes,
                          row.seconds * 1e6, row.p50 * 1e6, row.p99 * 1e6, curve.bytes_per_second(row) * 1e-9);
  return text;
}

std::string as_picture(const std::vector<Curve>& curves) {
  std::vector<Plot> plots;
  for (const Curve& curve : curves) {
    const std::string title = fmt::format("{} nodes, microseconds", curve.nodes);
    if (plots.empty() || plots.back().title != title) plots.push_back({title, {}});
    auto& line = plots.back().lines.emplace_back();
    line.name = curve.sync;
    for (const Row& row : curve.rows) line.values.emplace_back(row.bytes, row.seconds * 1e6);
  }
  return draw("Exchanges by the size of what is added up", plots);
}

} // namespace dlhost::bench
