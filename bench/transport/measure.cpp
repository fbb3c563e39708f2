// Checks the ends of every message, and in a row before the timed ones all bytes.
#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace dlhost::bench {

namespace {

using Clock = std::chrono::steady_clock;

// Buffers of one size, one for each message in flight.
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

// One side's messages of one size. Both sides must use the same numbers of messages.
class Talk {
 public:
  Talk(Line& line, std::size_t size, bool first) : line_(line), first_(first), out_(size), in_(size) { fill(out_); }

  // `times` round trips; returns the seconds of one way.
  double ways(std::size_t times) {
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < times; ++i) {
      if (first_) line_.send(out_.messages, 1);
      line_.receive(in_.rooms, 1, [](std::size_t, std::span<std::byte> got) { look(0, got); });
      if (!first_) line_.send(out_.messages, 1);
    }
    return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(times) / 2;
  }
  // The same, timed singly; returns half of the seconds of each round trip.
  std::vector<double> single_ways(std::size_t times) {
    std::vector<double> ways(times);
    auto begin = Clock::now();
    for (double& way : ways) {
      if (first_) line_.send(out_.messages, 1);
      line_.receive(in_.rooms, 1, [](std::size_t, std::span<std::byte> got) { look(0, got); });
      if (!first_) line_.send(out_.messages, 1);
      const auto end = Clock::now();
      way = std::chrono::duration<double>(end - std::exchange(begin, end)).count() / 2;
    }
    return ways;
  }
  // `count` messages from the first side to the second, which answers after the last; returns the seconds.
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

// The numbers of repetitions for about the wanted time; the first side sends them to the second.
struct Plan {
  std::size_t turns = 1, ways = 1, singles = 1, messages = window; // ways and messages: for each turn
};
constexpr std::size_t most_turns = 21, fewest_turns = 3;

// Rows of messages until the time is over; the first side decides.
double rate_over_time(Talk& talk, std::size_t size, std::size_t messages, bool first, double seconds,
                      Channel& channel) {
  const auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const auto goes_on = [&] {
    if (!first) return channel.hear() == "more";
    const bool more = elapsed() < seconds;
    channel.say(more ? "more" : "over");
    return more;
  };
  double sent = 0;
  while (goes_on()) {
    talk.row(messages, false);
    sent += static_cast<double>(messages * size);
  }
  return sent / elapsed();
}

double part(std::vector<double>& sorted, double of) {
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(of * static_cast<double>(sorted.size())))];
}

Row measure(Line& line, std::size_t size, bool first, const Measurement& wanted, Channel& channel) {
  Talk talk(line, size, first);
  talk.row(window, true);
  const double way = talk.ways(size > 1 << 20 ? 5 : 100);
  const double one = talk.row(2 * window, false) / (2 * window);
  Plan plan;
  if (first) {
    const auto times = [&](double share, double each, std::size_t least, std::size_t most) {
      return std::clamp(static_cast<std::size_t>(wanted.seconds * share / each), least, most);
    };
    constexpr std::size_t million = 1'000'000;
    plan.turns = times(.4, one * window, fewest_turns, most_turns);
    const auto turns = static_cast<double>(plan.turns);
    plan.ways = times(.3 / turns, 2 * way, 1, million);
    plan.singles = times(.3, 2 * way, 20, million);
    plan.messages = times(.4 / turns, one, window, million);
    channel.say(fmt::format("{} {} {} {}", plan.turns, plan.ways, plan.singles, plan.messages));
  } else {
    const std::string told = channel.hear();
    if (std::sscanf(told.c_str(), "%zu %zu %zu %zu", &plan.turns, &plan.ways, &plan.singles, &plan.messages) != 4)
      throw std::runtime_error("no plan");
  }
  if (wanted.lasting) return {size, 0, 0, 0, rate_over_time(talk, size, plan.messages, first, wanted.seconds, channel)};
  std::vector<double> latencies, rates;
  for (std::size_t turn = 0; turn < plan.turns; ++turn) {
    latencies.push_back(talk.ways(plan.ways));
    rates.push_back(static_cast<double>(plan.messages * size) / talk.row(plan.messages, false));
  }
  auto singles = talk.single_ways(plan.singles);
  for (auto* const all : {&latencies, &rates, &singles}) std::ranges::sort(*all);
  return {size, part(latencies, .5), part(singles, .5), part(singles, .99), part(rates, .5)};
}

} // namespace

std::vector<Row> converse(const LineKind& kind, bool first, const Measurement& wanted, Channel& channel,
                          const std::string& host) {
  const auto line = kind.make({*std::ranges::max_element(wanted.sizes), first, host});
  channel.say(line->address());
  line->connect(channel.hear());
  channel.say("connected");
  channel.hear();
  std::vector<Row> rows;
  for (const std::size_t size : wanted.sizes) rows.push_back(measure(*line, size, first, wanted, channel));
  return rows;
}

} // namespace dlhost::bench
