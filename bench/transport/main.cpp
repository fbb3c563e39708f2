// The speed of messages between two processes: dlhost's transports, including `fabric` over each available libfabric
// provider, these providers alone, and Boost.Interprocess' message queue, one after the other in one command; on one
// machine, or with --listen and --connect on two.
//
// Latency is half of a message's round trip: the median of many round trips at a time, and of single ones. Bandwidth is
// a row of messages, `window` of them in flight, until the last has arrived. With --pairs, compares the throughput of
// one pair of processes with that of many at once.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "channel.h"
#include "line.h"
#include "measure.h"
#include "pairs.h"
#include "party.h"
#include "report.h"
#include "shm/endpoint.h"
#include "swept.h"
#ifdef DLHOST_BENCH_FABRIC
#include "fabric/endpoint.h"
#include "fabric/providers.h"
#endif

namespace dlhost::bench {

namespace {

std::vector<LineKind> kinds_here() {
  std::vector<LineKind> kinds{{"shm", "shm", "", false, [](const Side&) {
                                 return make_endpoint_line(
                                     [](Host& host) { return plugins::shm::ShmEndpoint::open(host, "bench", {}); });
                               }}};
#ifdef DLHOST_BENCH_FABRIC
  for (const std::string& provider : plugins::fabric::carriers_here()) {
    const bool across = provider != "shm";
    const bool by_name =
        provider == "sockets" || provider == "udp"; // abandoned by its makers; loses messages that arrive too fast
    kinds.push_back({"fabric-" + provider, "fabric", provider, across,
                     [provider](const Side& side) {
                       return make_endpoint_line([&](Host& host) {
                         return plugins::fabric::FabricEndpoint::open(host, "bench",
                                                                      {.provider = provider, .listen = side.host});
                       });
                     },
                     by_name});
    kinds.push_back({"libfabric-" + provider, "libfabric-" + provider, provider, across,
                     [provider](const Side& side) { return make_fabric_line(provider, side.host); }, by_name});
  }
#endif
  kinds.push_back({"boost-message-queue", "boost-message-queue", "", false,
                   [](const Side& side) { return make_queue_line(side.largest, side.first); }});
  return kinds;
}

} // namespace

const std::vector<LineKind>& line_kinds() {
  static const std::vector<LineKind> kinds = kinds_here(); // listing takes libfabric a while
  return kinds;
}

namespace {

constexpr const char* this_host = "127.0.0.1";

struct Options {
  Measurement measurement;
  int turns = 1;
  int pairs = 0;
  bool json = false, csv = false;
  std::string picture;
  std::vector<std::string> transports; // measures only these
  std::string listen, connect;         // the other side is on another host
  std::string party;                   // this process is the other side of that transport
  int from = -1, to = -1;
};

const LineKind& kind_named(const std::string& name) {
  const auto& kinds = line_kinds();
  const auto kind = std::ranges::find(kinds, name, &LineKind::name);
  if (kind == kinds.end()) throw std::runtime_error("there is no transport '" + name + "' here");
  return *kind;
}

// The other side is a process of this program.
std::vector<Row> with_a_party(const std::string& program, const LineKind& kind, const Options& options) {
  std::vector<std::string> words{"--party", kind.name, "--seconds", std::to_string(options.measurement.seconds)};
  if (options.measurement.lasting) words.emplace_back("--lasting");
  for (const auto size : options.measurement.sizes) words.insert(words.end(), {"--size", std::to_string(size)});
  Party party(program, std::move(words));
  auto rows = converse(kind, true, options.measurement, party.channel(), this_host);
  party.join();
  return rows;
}

// The other side is this program on another host, which listens; one call for each transport.
std::vector<Row> with_another_host(const LineKind& kind, const Options& options) {
  Channel channel = call(place_of(options.connect));
  std::string plan = fmt::format("{} {}", kind.name, options.measurement.seconds);
  for (const auto size : options.measurement.sizes) plan += fmt::format(" {}", size);
  channel.say(plan);
  return converse(kind, true, options.measurement, channel, channel.own_address());
}

// Serves callers until one says that it is over, or none calls for a minute.
void be_the_other_host(const Options& options) {
  constexpr int patience = 60;
  Listener listener(place_of(options.listen));
  for (;;) {
    Channel channel = listener.accept(patience);
    try {
      const std::string plan = channel.hear();
      if (plan == "over") return;
      std::istringstream words(plan);
      std::string name;
      Measurement wanted{.sizes = {}, .seconds = 0};
      words >> name >> wanted.seconds;
      for (std::size_t size = 0; words >> size;) wanted.sizes.push_back(size);
      constexpr std::size_t most = std::size_t{1} << 30;
      if (wanted.sizes.empty() || std::ranges::any_of(wanted.sizes, [](auto s) { return s == 0 || s > most; }))
        throw std::runtime_error("a caller asks for something else");
      converse(kind_named(name), false, wanted, channel, channel.own_address());
    } catch (const std::exception& error) {
      fmt::print(stderr, "transport: {}\n", error.what());
    }
  }
}

// With more processes than cores, a process may wait for another that is not running.
void compare_pairs(const std::string& program, const Options& options) {
  const std::string transport = options.transports.empty() ? line_kinds().front().name : options.transports.front();
  if (!options.json)
    fmt::print("{:<22}{:>10}{:>18}{:>18}{:>8}\n", transport, "bytes", "one pair, GB/s",
               fmt::format("{} pairs, GB/s", options.pairs), "ratio");
  for (const std::size_t size : options.measurement.sizes) {
    const double seconds = options.measurement.seconds;
    const double one = delivered_by(program, transport, size, seconds, 1);
    const double all = delivered_by(program, transport, size, seconds, options.pairs);
    if (options.json) {
      const nlohmann::json json{{"transport", transport},
                                {"bytes", size},
                                {"pairs", options.pairs},
                                {"gigabytes_per_second", all * 1e-9},
                                {"of_one_pair", one * 1e-9}};
      fmt::print("{}\n", json.dump());
    } else {
      fmt::print("{:<22}{:>10}{:>18.2f}{:>18.2f}{:>8.2f}\n", "", size, one * 1e-9, all * 1e-9, all / one);
    }
    std::fflush(stdout);
  }
}

// Measures the kinds in turns, so that a temporary slowdown of the machine affects all.
std::vector<Measured> measure_all(const std::string& program, const Options& options) {
  std::vector<Measured> all;
  for (const auto& kind : line_kinds()) {
    const auto& only = options.transports;
    if (only.empty() ? kind.by_name : std::ranges::find(only, kind.name) == only.end()) continue;
    if (!options.connect.empty() && !kind.across_hosts) continue;
    all.push_back({kind, {}});
  }
  for (int turn = 0; turn < options.turns; ++turn)
    for (auto& one : all) {
      if (turn > 0 && one.rows.empty()) continue; // not available here
      try {
        one.take(options.connect.empty() ? with_a_party(program, one.kind, options)
                                         : with_another_host(one.kind, options));
      } catch (const std::exception& error) {
        fmt::print(stderr, "{}: not measured: {}\n", one.kind.name, error.what());
      }
    }
  std::erase_if(all, [](const Measured& one) { return one.rows.empty(); });
  if (!options.connect.empty()) call(place_of(options.connect)).say("over");
  return all;
}

int run(const std::string& program, const Options& options) {
  if (!options.party.empty())
    return be_party("transport", options.from, options.to, [&](Channel& channel) {
      converse(kind_named(options.party), false, options.measurement, channel, this_host);
    });
  if (!options.listen.empty()) {
    be_the_other_host(options);
    return 0;
  }
  if (options.pairs > 0) {
    compare_pairs(program, options);
    return 0;
  }
  const auto all = measure_all(program, options);
  fmt::print("{}", options.json ? as_json(all) : options.csv ? as_csv(all) : as_text(all));
  if (!options.picture.empty()) {
    std::ofstream picture(options.picture);
    picture << as_picture(all);
    if (!picture.flush()) throw std::runtime_error("cannot write " + options.picture);
  }
  return all.empty() ? 1 : 0;
}

int bench(int argc, char** argv) {
  Options options;
  auto& measurement = options.measurement;
  for (std::size_t size = 64; size <= 16 << 20; size *= 4) measurement.sizes.push_back(size);
  CLI::App app("Messages between two processes: one-way latency and bandwidth by size, each transport beside others.");
  app.add_option("--size", measurement.sizes, "bytes of a message; may be given several times")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30));
  app.add_option("--seconds", measurement.seconds, "for each transport and size")->capture_default_str();
  app.add_option("--turns", options.turns, "measure all so often, and take the best of each")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", options.json, "a line of JSON for each row");
  app.add_flag("--csv", options.csv, "comma-separated values, with a head");
  app.add_option("--svg", options.picture, "also a picture: latency and bandwidth by size")->type_name("FILE");
  app.add_option(
         "--transport", options.transports,
         "only that one, as the table names it (may be repeated); `fabric-X` and `libfabric-X` are of libfabric's "
         "provider X, for all that are here; those of `sockets` and `udp` are measured only where they are named")
      ->check(CLI::IsMember([] {
        std::vector<std::string> names;
        for (const LineKind& kind : line_kinds()) names.push_back(kind.name);
        return names;
      }()));
  app.add_option("--pairs", options.pairs, "instead: what one pair and so many at once deliver, over shm if not said")
      ->check(CLI::Range(1, 64));
  app.add_option("--listen", options.listen,
                 "be the other host, at this address: takes whoever calls, so only in networks that you trust")
      ->type_name("ADDRESS[:PORT]");
  app.add_option("--connect", options.connect, "measure with the host that listens there")->type_name("ADDRESS[:PORT]");
  app.add_flag("--lasting", measurement.lasting)->group("");
  app.add_option("--party", options.party)->group("");
  app.add_option("--from", options.from)->group("");
  app.add_option("--to", options.to)->group("");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGPIPE, SIG_IGN); // a write to a dead process gives an error, which is reported
  try {
    return run(std::filesystem::canonical("/proc/self/exe").string(), options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "transport: {}\n", error.what());
    return 1;
  }
}

} // namespace
} // namespace dlhost::bench

int main(int argc, char** argv) {
  const auto work = [&] { return dlhost::bench::bench(argc, argv); };
  const bool is_party = std::any_of(argv, argv + argc, [](std::string_view word) { return word == "--party"; });
  return is_party ? work() : dlhost::bench::sweep_after(work); // the fork must precede libfabric's threads
}
