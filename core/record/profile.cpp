#include "record/profile.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "record/quantity.h"

namespace dlhost::record {

namespace {

using Json = nlohmann::ordered_json;

std::vector<ProfileRow> sorted(std::vector<ProfileRow> rows) {
  std::ranges::stable_sort(rows, std::greater(), &ProfileRow::seconds);
  return rows;
}

void add_to(ProfileRow& sum, const ProfileRow& row) {
  // If some rows do not know their bytes, the sum does not either: it would not fit the sum's time.
  const bool bytes_known = row.bytes > 0 && (sum.calls == 0 || sum.bytes > 0);
  sum.bytes = bytes_known ? sum.bytes + row.bytes : 0;
  sum.floor = row.floor > 0 && (sum.calls == 0 || sum.floor > 0) ? sum.floor + row.floor : 0;
  sum.seconds += row.seconds;
  sum.calls += row.calls;
  sum.operations += row.operations;
}

std::vector<ProfileRow> by_direction(const Profile& profile) {
  std::vector<ProfileRow> sums;
  for (const ProfileRow& row : profile.rows) {
    auto sum = std::ranges::find(sums, row.direction, &ProfileRow::direction);
    if (sum == sums.end()) sum = sums.insert(sum, ProfileRow{"all", "", row.direction});
    add_to(*sum, row);
  }
  return sorted(std::move(sums));
}

ProfileRow rest_of(const Profile& profile) {
  ProfileRow rest{"rest", "", "outside of layers"};
  rest.seconds = profile.seconds;
  for (const ProfileRow& row : profile.rows) rest.seconds -= row.seconds;
  rest.seconds = std::max(rest.seconds, 0.0); // clocks are read a little after work ends
  return rest;
}

// A row's printed figures; unknown ones are negative.
struct Figures {
  double milliseconds, share, gigaflops, of_peak, gigabytes, floor;
};

Figures figures_of(const ProfileRow& row, const Profile& profile) {
  const double steps = static_cast<double>(std::max<std::uint64_t>(profile.steps, 1));
  const bool took_time = row.seconds > 0;
  const double speed = took_time && row.operations > 0 ? row.operations / row.seconds : -1;
  return {row.seconds / steps * 1e3,
          profile.seconds > 0 ? row.seconds / profile.seconds : -1,
          speed < 0 ? -1 : speed / 1e9,
          speed < 0 || profile.peak_operations <= 0 ? -1 : speed / profile.peak_operations,
          took_time && row.bytes > 0 ? row.bytes / row.seconds / 1e9 : -1,
          row.floor > 0 ? row.floor / steps * 1e3 : -1};
}

std::string cell(double value, const char* format, double scale = 1) {
  return value < 0 ? "" : fmt::format(fmt::runtime(format), value * scale);
}

struct Widths {
  std::size_t name = 5, type = 4, direction = 9;
};

std::string line_of(const ProfileRow& row, const Profile& profile, const Widths& widths) {
  const Figures figures = figures_of(row, profile);
  std::string line = fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>9}  {:>6}  {:>8}  {:>7}  {:>7}  {:>9}", row.name,
                                 widths.name, row.type, widths.type, row.direction, widths.direction,
                                 cell(figures.milliseconds, "{:.3f}"), cell(figures.share, "{:.1f}%", 100),
                                 cell(figures.gigaflops, "{:.1f}"), cell(figures.of_peak, "{:.0f}%", 100),
                                 cell(figures.gigabytes, "{:.1f}"), cell(figures.floor, "{:.3f}"));
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

Json known(double value) { return value < 0 ? Json() : Json(value); }

Json json_of(const ProfileRow& row, const Profile& profile) {
  const Figures figures = figures_of(row, profile);
  Json json;
  json["name"] = row.name;
  json["type"] = row.type;
  json["direction"] = row.direction;
  json["milliseconds"] = figures.milliseconds;
  json["share_of_step"] = known(figures.share);
  json["calls_per_step"] =
      static_cast<double>(row.calls) / static_cast<double>(std::max<std::uint64_t>(profile.steps, 1));
  json["gigaflops"] = known(figures.gigaflops);
  json["share_of_peak"] = known(figures.of_peak);
  json["gigabytes_per_second"] = known(figures.gigabytes);
  json["floor_milliseconds"] = known(figures.floor);
  return json;
}

Json json_of(const std::vector<ProfileRow>& rows, const Profile& profile) {
  Json json = Json::array();
  for (const ProfileRow& row : rows) json.push_back(json_of(row, profile));
  return json;
}

} // namespace

void set_floors(Profile& profile) {
  for (ProfileRow& row : profile.rows) {
    const double computing = profile.peak_operations > 0 ? row.operations / profile.peak_operations : 0;
    const double moving = profile.peak_bytes > 0 ? row.bytes / profile.peak_bytes : 0;
    row.floor = std::max(computing, moving);
  }
}

std::string profile_table(const Profile& profile) {
  const auto rows = sorted(profile.rows), directions = by_direction(profile);
  const ProfileRow rest = rest_of(profile);
  Widths widths{5, 4, width_of(rest.direction)};
  for (const ProfileRow& row : rows) {
    widths.name = std::max(widths.name, width_of(row.name));
    widths.type = std::max(widths.type, width_of(row.type));
    widths.direction = std::max(widths.direction, width_of(row.direction));
  }
  std::string text = fmt::format("Where the time of a step goes ({} steps of {:.3f} ms", profile.steps,
                                 figures_of({"", "", "", profile.seconds}, profile).milliseconds);
  if (profile.peak_operations > 0) text += fmt::format("; peak {:.0f} GFLOP/s", profile.peak_operations / 1e9);
  if (profile.peak_bytes > 0) text += fmt::format(", {:.1f} GB/s", profile.peak_bytes / 1e9);
  text += ")\n";
  const std::string head =
      fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>9}  {:>6}  {:>8}  {:>7}  {:>7}  {:>9}\n", "layer", widths.name, "type",
                  widths.type, "direction", widths.direction, "ms", "step", "GFLOP/s", "of peak", "GB/s", "floor");
  const std::string rule(head.size() - 1, '-');
  text += head + rule + "\n";
  for (const ProfileRow& row : rows) text += line_of(row, profile, widths);
  text += rule + "\n";
  for (const ProfileRow& row : directions) text += line_of(row, profile, widths);
  return text + line_of(rest, profile, widths);
}

std::string profile_json(const Profile& profile) {
  Json json;
  json["steps"] = profile.steps;
  json["seconds_per_step"] = profile.seconds / static_cast<double>(std::max<std::uint64_t>(profile.steps, 1));
  json["peak_operations_per_second"] = profile.peak_operations > 0 ? Json(profile.peak_operations) : Json();
  json["peak_bytes_per_second"] = profile.peak_bytes > 0 ? Json(profile.peak_bytes) : Json();
  json["rows"] = json_of(sorted(profile.rows), profile);
  json["directions"] = json_of(by_direction(profile), profile);
  json["rest_milliseconds"] = figures_of(rest_of(profile), profile).milliseconds;
  return env::json_text(json, 2) + "\n";
}

std::vector<TraceEvent> mean_step(const Profile& profile) {
  std::vector<TraceEvent> events;
  double begin = 0;
  for (const ProfileRow& row : profile.rows) {
    const double nanoseconds = figures_of(row, profile).milliseconds * 1e6;
    events.push_back({concat(row.name, " ", row.direction), row.direction, std::llround(begin),
                      std::llround(begin + nanoseconds) - std::llround(begin), 0});
    begin += nanoseconds;
  }
  return events;
}

} // namespace dlhost::record
