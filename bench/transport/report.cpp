#include "report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plots.h"

namespace dlhost::bench {

void Measured::take(const std::vector<Row>& again) {
  if (rows.empty()) rows = again;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].latency = std::min(rows[i].latency, again[i].latency);
    rows[i].latency_50 = std::min(rows[i].latency_50, again[i].latency_50);
    rows[i].latency_99 = std::min(rows[i].latency_99, again[i].latency_99);
    rows[i].bytes_per_second = std::max(rows[i].bytes_per_second, again[i].bytes_per_second);
  }
}

const Row* Measured::peer_of(const Measured& one, const Row& row, const std::vector<Measured>& all) {
  if (one.kind.transport != "fabric") return nullptr;
  const auto peer = std::ranges::find_if(
      all, [&](const Measured& other) { return other.kind.transport == "libfabric-" + one.kind.provider; });
  if (peer == all.end()) return nullptr;
  const auto same = std::ranges::find(peer->rows, row.bytes, &Row::bytes);
  return same == peer->rows.end() ? nullptr : &*same;
}

std::string as_text(const std::vector<Measured>& all) {
  std::string text = fmt::format("{:<22}{:>10}{:>14}{:>12}{:>12}{:>10}   {}\n", "transport", "bytes", "one way, us",
                                 "p50", "p99", "GB/s", "beside libfabric's own: latency, bandwidth");
  for (const auto& one : all)
    for (const Row& row : one.rows) {
      text += fmt::format("{:<22}{:>10}{:>14.3f}{:>12.3f}{:>12.3f}{:>10.3f}", one.kind.name, row.bytes,
                          row.latency * 1e6, row.latency_50 * 1e6, row.latency_99 * 1e6, row.bytes_per_second * 1e-9);
      if (const Row* peer = Measured::peer_of(one, row, all))
        text += fmt::format("   {:.2f} ({:+.0f} ns), {:.2f}", row.latency / peer->latency,
                            (row.latency - peer->latency) * 1e9, row.bytes_per_second / peer->bytes_per_second);
      text += '\n';
    }
  return text;
}

std::string as_json(const std::vector<Measured>& all) {
  std::string text;
  for (const auto& one : all)
    for (const Row& row : one.rows) {
      nlohmann::json json{{"transport", one.kind.transport},
                          {"provider", one.kind.provider},
                          {"bytes", row.bytes},
                          {"latency_us", row.latency * 1e6},
                          {"latency_us_50", row.latency_50 * 1e6},
                          {"latency_us_99", row.latency_99 * 1e6},
                          {"gigabytes_per_second", row.bytes_per_second * 1e-9}};
      if (const Row* peer = Measured::peer_of(one, row, all); peer && peer->latency > 0) {
        json["latency_ratio"] = row.latency / peer->latency;
        json["latency_more_ns"] = (row.latency - peer->latency) * 1e9;
        json["bandwidth_ratio"] = row.bytes_per_second / peer->bytes_per_second;
      }
      text += json.dump() + "\n";
    }
  return text;
}

std::string as_csv(const std::vector<Measured>& all) {
  std::string text = "transport,provider,bytes,latency_us,latency_us_50,latency_us_99,gigabytes_per_second\n";
  for (const auto& one : all)
    for (const Row& row : one.rows)
      text += fmt::format("{},{},{},{:.4f},{:.4f},{:.4f},{:.6f}\n", one.kind.transport, one.kind.provider, row.bytes,
                          row.latency * 1e6, row.latency_50 * 1e6, row.latency_99 * 1e6, row.bytes_per_second * 1e-9);
  return text;
}

std::string as_picture(const std::vector<Measured>& all) {
  Plot latency{"one way, microseconds", {}}, bandwidth{"GB/s", {}};
  for (const auto& one : all) {
    auto& times = latency.lines.emplace_back(Plot::Line{one.kind.name, {}}).values;
    auto& rates = bandwidth.lines.emplace_back(Plot::Line{one.kind.name, {}}).values;
    for (const Row& row : one.rows) {
      times.emplace_back(row.bytes, row.latency * 1e6);
      rates.emplace_back(row.bytes, row.bytes_per_second * 1e-9);
    }
  }
  return draw("Latency and bandwidth of transports by the size of messages", {latency, bandwidth});
}

} // namespace dlhost::bench
