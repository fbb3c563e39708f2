#include "survey.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

#include "providers.h"
#include "trial.h"

namespace dlhost::plugins::fabric {
namespace {

// The trial time of each provider if one of several is chosen.
constexpr Nanoseconds short_trial = 20'000'000;
// All machines of a job must choose the same: only clear differences count, else this order decides.
constexpr double clearly = 1.5;
constexpr std::array in_order{"verbs", "efa", "cxi", "opx", "psm3", "psm2", "tcp"};

// Why a usable provider is never chosen by default.
std::string reservation(const std::string& provider, const fi_info& info) {
  constexpr std::string_view by_name = "; taken where `provider` names it";
  if (!reaches_memory(info)) return concat("it has no put and get, which workers of different machines need", by_name);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> known{{
      {"shm", "it reaches this machine only, as the transport `shm` does"},
      {"net", "libfabric calls it temporary: it will become `tcp`"},
      {"sockets", "libfabric no longer maintains it"},
      {"udp", "messages that come faster than they are read are lost and sent again"},
  }};
  const auto one = std::ranges::find(known, provider, &std::pair<std::string_view, std::string_view>::first);
  return one == known.end() ? "" : concat(one->second, by_name);
}

std::size_t rank(const std::string& provider) {
  return static_cast<std::size_t>(std::ranges::find(in_order, provider) - in_order.begin());
}

bool is_candidate(const Transport::Way& way) { return way.usable && way.why.empty(); }
bool is_measured(const Transport::Way& way) { return way.latency > 0; }
double cost(const Transport::Way& way) { return Speed{way.latency, way.bytes_per_second}.cost(); }

std::string times(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", ratio);
  return text;
}

void measure(Host& host, Transport::Way& way, const std::string& at, Nanoseconds span) {
  const auto speed = try_out(host, way.name, at, span);
  if (speed.ok()) {
    way.latency = speed->latency;
    way.bytes_per_second = speed->bytes_per_second;
  } else {
    way.usable = false;
    way.why = concat("its trial failed: ", speed.status().message());
  }
}

std::vector<Transport::Way> ways_at(const std::string& at) {
  std::vector<Transport::Way> ways;
  for (auto& [name, places] : providers_here()) {
    Transport::Way way{.name = name, .is = name, .places = std::move(places), .can = {}, .why = {}};
    if (const Info info = of_provider(name, at)) {
      way.usable = true;
      way.is = info->fabric_attr->prov_name;
      way.can = abilities(*info);
      way.why = reservation(name, *info);
    } else {
      way.why = concat("it carries no tagged messages between reliable datagram endpoints at ", at);
    }
    ways.push_back(std::move(way));
  }
  std::ranges::stable_sort(ways, {}, [](const auto& way) { return rank(way.name); });
  return ways;
}

// Chooses by measurements if several were measured.
void choose_of(std::vector<Transport::Way>& ways) {
  Transport::Way* taken = nullptr;
  for (auto& way : ways) {
    if (!is_candidate(way)) continue;
    const bool faster = taken && is_measured(way) && is_measured(*taken) && cost(*taken) > clearly * cost(way);
    if (!taken || faster) taken = &way;
  }
  const auto candidates = std::ranges::count_if(ways, &is_candidate);
  for (auto& way : ways) {
    if (!is_candidate(way)) continue;
    if (&way == taken) {
      way.chosen = true;
      way.why = candidates == 1 ? "the only one here that reaches other machines" : "the best here";
    } else if (is_measured(way) && is_measured(*taken)) {
      way.why = concat("latency and bandwidth together ", times(cost(way) / cost(*taken)), " times as much as of '",
                       taken->name, "'", cost(way) < cost(*taken) ? ", too little to come before it" : "");
    } else {
      way.why = concat("'", taken->name, "' comes before it");
    }
  }
}

std::string explained(const std::vector<Transport::Way>& ways) {
  std::string text;
  for (const auto& way : ways) {
    text += concat(text.empty() ? "" : "; ", way.name, way.chosen ? " is taken: " : ": ", way.why);
    if (!is_measured(way)) continue;
    char speed[64];
    std::snprintf(speed, sizeof speed, " (%.2f us, %.2f GB/s)", way.latency * 1e6, way.bytes_per_second * 1e-9);
    text += speed;
  }
  return text;
}

} // namespace

std::vector<Transport::Way> survey(Host& host, const std::string& at, Nanoseconds span) {
  auto ways = ways_at(at);
  for (auto& way : ways)
    if (way.usable) measure(host, way, at, span);
  choose_of(ways);
  return ways;
}

Result<std::string> best_provider(Host& host, const std::string& at) {
  static std::mutex guard;
  static std::map<std::string, std::string> known; // by address
  const std::scoped_lock lock(guard);
  if (const auto one = known.find(at); one != known.end()) return one->second;
  auto ways = ways_at(at);
  if (std::ranges::count_if(ways, &is_candidate) > 1)
    for (auto& way : ways)
      if (is_candidate(way)) measure(host, way, at, short_trial);
  choose_of(ways);
  host.log().write(LogLevel::debug, concat("fabric: at ", at, " ", explained(ways)));
  const auto taken = std::ranges::find_if(ways, &Transport::Way::chosen);
  if (taken == ways.end())
    return Status::unsupported("libfabric has no provider here that reaches other machines; ", explained(ways));
  return known[at] = taken->name;
}

} // namespace dlhost::plugins::fabric
