// How fast two processes of one machine exchange messages: dlhost's transports, libfabric's providers and
// Boost.Interprocess' message queue, one after the other in one command.
//
// Latency is half of a message's way there and back, of a thousand such ways at a time in the median; bandwidth is a
// row of messages, `window` of them under way, until the last has arrived. Every message's ends are looked at, and in a
// round before the timed ones all of its bytes. With --pairs, what one pair of processes and so many at once deliver.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "line.h"
#include "pairs.h"
#include "shm/endpoint.h"
#ifdef DLHOST_BENCH_FABRIC
#include "fabric/endpoint.h"
#endif

extern char** environ;

namespace dlhost::bench {

std::vector<LineKind> line_kinds() {
  std::vector<LineKind> kinds{{"shm", "shm", "", [](std::size_t, bool) {
                                 return make_endpoint_line(
                                     [](Host& host) { return plugins::shm::ShmEndpoint::open(host, "bench", {}); });
                               }}};
#ifdef DLHOST_BENCH_FABRIC
  for (const std::string provider : {"shm", "tcp"}) {
    kinds.push_back({"fabric-" + provider, "fabric", provider, [provider](std::size_t, bool) {
                       return make_endpoint_line([&](Host& host) {
                         return plugins::fabric::FabricEndpoint::open(host, "bench", {.provider = provider});
                       });
                     }});
    kinds.push_back({"libfabric-" + provider, "libfabric-" + provider, provider,
                     [provider](std::size_t, bool) { return make_fabric_line(provider); }});
  }
#endif
  kinds.push_back({"boost-message-queue", "boost-message-queue", "", &make_queue_line});
  return kinds;
}

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::size_t> sizes{64, 65536, 1048576};
  double seconds = 1;
  bool json = false;
  int pairs = 0;
  bool lasting = false;  // messages until the time is over, and nothing else: others do the same meanwhile
  std::string transport; // only that one
  std::string party;     // this process is the other side of that transport
  int from = -1, to = -1;
};

void say(int file, const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  if (write(file, &size, sizeof size) != sizeof size || write(file, text.data(), size) != static_cast<ssize_t>(size))
    throw std::runtime_error("the other side is gone");
}
std::string hear(int file) {
  std::uint32_t size = 0;
  if (read(file, &size, sizeof size) != sizeof size || size > 4096) throw std::runtime_error("the other side is gone");
  std::string text(size, '\0');
  for (std::size_t at = 0; at < size;) {
    const ssize_t more = read(file, text.data() + at, size - at);
    if (more <= 0) throw std::runtime_error("the other side is gone");
    at += static_cast<std::size_t>(more);
  }
  return text;
}

// Buffers of one size, one for each message under way.
class Buffers {
 public:
  explicit Buffers(std::size_t size) : memory_(window, std::vector<std::byte>(size)) {
    for (auto& one : memory_) {
      rooms.emplace_back(one);
      messages.emplace_back(one);
    }
  }
  std::vector<std::span<std::byte>> rooms;
  std::vector<std::span<const std::byte>> messages;

 private:
  std::vector<std::vector<std::byte>> memory_;
};

std::byte wanted_byte(std::size_t message, std::size_t i) { return static_cast<std::byte>(i * 37 + message % window); }
void fill(Buffers& buffers) {
  for (std::size_t m = 0; m < window; ++m)
    for (std::size_t i = 0; i < buffers.rooms[m].size(); ++i) buffers.rooms[m][i] = wanted_byte(m, i);
}
void look(std::size_t number, std::span<const std::byte> got) {
  if (got.front() != wanted_byte(number, 0) || got.back() != wanted_byte(number, got.size() - 1))
    throw std::runtime_error("another message arrived");
}
void look_at_all(std::size_t number, std::span<const std::byte> got) {
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != wanted_byte(number, i)) throw std::runtime_error("another message arrived");
}

// One side's conversation about one size. Both sides compute the same numbers of messages.
class Talk {
 public:
  Talk(Line& line, std::size_t size, bool first) : line_(line), first_(first), out_(size), in_(size) { fill(out_); }

  // `times` ways there and back; the seconds of one way.
  double ways(std::size_t times) {
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < times; ++i) {
      if (first_) line_.send(out_.messages, 1);
      line_.receive(in_.rooms, 1, [](std::size_t, std::span<std::byte> got) { look(0, got); });
      if (!first_) line_.send(out_.messages, 1);
    }
    return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(times) / 2;
  }
  // `count` messages from the first side to the second, which answers when it has all; the seconds of it.
  double row(std::size_t count, bool all) {
    const auto begin = Clock::now();
    if (first_)
      line_.send(out_.messages, count);
    else
      line_.receive(in_.rooms, count, all ? &look_at_all : &look);
    if (first_)
      line_.receive(in_.rooms, 1, [](std::size_t, std::span<std::byte> got) { look(0, got); });
    else
      line_.send(out_.messages, 1);
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

 private:
  Line& line_;
  bool first_;
  Buffers out_, in_;
};

struct Row {
  std::size_t bytes = 0;
  double latency = 0, latency_99 = 0, bytes_per_second = 0;
};

// How often each is done, so that it takes about the time that is wanted; the first side says it to the second.
struct Plan {
  std::size_t ways = 1, messages = window;
};
constexpr std::size_t turns = 21;

// Rows of messages until the time is over, which the first side says.
double rate_over_time(Talk& talk, std::size_t size, std::size_t messages, bool first, const Options& options) {
  const auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const auto goes_on = [&] {
    if (!first) return hear(options.from) == "more";
    const bool more = elapsed() < options.seconds;
    say(options.to, more ? "more" : "over");
    return more;
  };
  double sent = 0;
  while (goes_on()) {
    talk.row(messages, false);
    sent += static_cast<double>(messages * size);
  }
  return sent / elapsed();
}

Row measure(Line& line, std::size_t size, bool first, const Options& options) {
  Talk talk(line, size, first);
  talk.row(2 * window, true);
  const double way = talk.ways(100);
  const double one = talk.row(4 * window, false) / (4 * window);
  Plan plan;
  if (first) {
    plan.ways = std::clamp<std::size_t>(static_cast<std::size_t>(options.seconds / 2 / turns / (2 * way)), 10, 1000000);
    plan.messages =
        std::clamp<std::size_t>(static_cast<std::size_t>(options.seconds / 2 / turns / one), window, 1000000);
    say(options.to, fmt::format("{} {}", plan.ways, plan.messages));
  } else {
    const std::string told = hear(options.from);
    if (std::sscanf(told.c_str(), "%zu %zu", &plan.ways, &plan.messages) != 2) throw std::runtime_error("no plan");
  }
  if (options.lasting) return {size, 0, 0, rate_over_time(talk, size, plan.messages, first, options)};
  std::vector<double> latencies, rates;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    latencies.push_back(talk.ways(plan.ways));
    rates.push_back(static_cast<double>(plan.messages * size) / talk.row(plan.messages, false));
  }
  std::ranges::sort(latencies);
  std::ranges::sort(rates);
  return {size, latencies[turns / 2], latencies.back(), rates[turns / 2]};
}

std::vector<Row> converse(const LineKind& kind, bool first, const Options& options) {
  const auto line = kind.make(*std::ranges::max_element(options.sizes), first);
  say(options.to, line->address());
  line->connect(hear(options.from));
  say(options.to, "connected");
  hear(options.from);
  std::vector<Row> rows;
  for (const std::size_t size : options.sizes) rows.push_back(measure(*line, size, first, options));
  return rows;
}

std::vector<Row> with_a_party(const std::string& program, const LineKind& kind, Options options) {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) throw std::runtime_error("no pipe");
  std::vector<std::string> words{program,
                                 "--party",
                                 kind.name,
                                 "--from",
                                 std::to_string(there[0]),
                                 "--to",
                                 std::to_string(back[1]),
                                 "--seconds",
                                 std::to_string(options.seconds)};
  if (options.lasting) words.emplace_back("--lasting");
  for (const auto size : options.sizes) words.insert(words.end(), {"--size", std::to_string(size)});
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  if (posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0)
    throw std::runtime_error("cannot start " + program);
  close(there[0]);
  close(back[1]);
  options.from = back[0];
  options.to = there[1];
  const auto end = [&] {
    close(there[1]);
    close(back[0]);
    int how = 0;
    waitpid(process, &how, 0);
    return how == 0;
  };
  try {
    auto rows = converse(kind, true, options);
    if (!end()) throw std::runtime_error("the other side failed");
    return rows;
  } catch (...) {
    kill(process, SIGTERM);
    end();
    throw;
  }
}

void print(const LineKind& kind, const Row& row, const Options& options) {
  if (options.json) {
    const nlohmann::json json{{"transport", kind.transport},
                              {"provider", kind.provider},
                              {"bytes", row.bytes},
                              {"latency_us", row.latency * 1e6},
                              {"latency_us_99", row.latency_99 * 1e6},
                              {"gigabytes_per_second", row.bytes_per_second * 1e-9}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{:<22}{:>10}{:>14.3f}{:>14.3f}{:>12.2f}\n", kind.name, row.bytes, row.latency * 1e6,
               row.latency_99 * 1e6, row.bytes_per_second * 1e-9);
  }
  std::fflush(stdout);
}

// With more processes than cores, what one of them waits for may have to be computed by another.
void compare_pairs(const std::string& program, const Options& options) {
  const std::string transport = options.transport.empty() ? line_kinds().front().name : options.transport;
  if (!options.json)
    fmt::print("{:<22}{:>10}{:>18}{:>18}{:>8}\n", transport, "bytes", "one pair, GB/s",
               fmt::format("{} pairs, GB/s", options.pairs), "ratio");
  for (const std::size_t size : options.sizes) {
    const double one = delivered_by(program, transport, size, options.seconds, 1);
    const double all = delivered_by(program, transport, size, options.seconds, options.pairs);
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

int run(const std::string& program, const Options& options) {
  if (!options.party.empty()) {
    for (const auto& kind : line_kinds())
      if (kind.name == options.party) converse(kind, false, options);
    return 0;
  }
  if (options.pairs > 0) {
    compare_pairs(program, options);
    return 0;
  }
  if (!options.json)
    fmt::print("{:<22}{:>10}{:>14}{:>14}{:>12}\n", "transport", "bytes", "one way, us", "slowest, us", "GB/s");
  for (const auto& kind : line_kinds()) {
    if (!options.transport.empty() && options.transport != kind.name) continue;
    try {
      for (const Row& row : with_a_party(program, kind, options)) print(kind, row, options);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: not measured: {}\n", kind.name, error.what());
    }
  }
  return 0;
}

} // namespace
} // namespace dlhost::bench

int main(int argc, char** argv) {
  dlhost::bench::Options options;
  CLI::App app("Messages between two processes of this machine: one-way latency and bandwidth by size.");
  app.add_option("--size", options.sizes, "bytes of a message; may be given several times")->capture_default_str();
  app.add_option("--seconds", options.seconds, "for each transport and size")->capture_default_str();
  app.add_flag("--json", options.json, "a line of JSON for each row");
  app.add_option("--transport", options.transport, "only that one, as the table names it")->check(CLI::IsMember([] {
    std::vector<std::string> names;
    for (const auto& kind : dlhost::bench::line_kinds()) names.push_back(kind.name);
    return names;
  }()));
  app.add_option("--pairs", options.pairs, "instead: what one pair and so many at once deliver, over shm if not said")
      ->check(CLI::Range(1, 64));
  app.add_flag("--lasting", options.lasting)->group("");
  app.add_option("--party", options.party)->group("");
  app.add_option("--from", options.from)->group("");
  app.add_option("--to", options.to)->group("");
  CLI11_PARSE(app, argc, argv);
  try {
    return dlhost::bench::run(std::filesystem::canonical("/proc/self/exe").string(), options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "transport: {}\n", error.what());
    return 1;
  }
}
