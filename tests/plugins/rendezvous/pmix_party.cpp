// pmix_party [leave|die] [OPTION=TEXT]: a process of a job that a PMIx launcher starts. It joins through the plugin,
// exchanges cards with all others, and prints its results. leave, die: the last rank then ends with or without a
// message, and the others print its end.
#include <csignal>
#include <cstdio>
#include <cstring>

#include <dlhost/rendezvous.h>

#include "plugin_host.h"

namespace {

using namespace dlhost;

constexpr Nanoseconds patience = 60'000'000'000;

template <class T> T need(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().message());
  return *std::move(result);
}
void need(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

std::string card_of(std::uint32_t rank) {
  return concat("card of ", rank, std::string(3000, static_cast<char>('a' + rank % 26)));
}

void exchange_cards(Session& session) {
  const Membership seen = need(session.membership(0, patience));
  need(session.put(concat("card/", session.rank()), card_of(session.rank())));
  for (const Member& one : seen.members)
    if (need(session.get(concat("card/", one.rank), patience)) != card_of(one.rank))
      throw std::runtime_error(concat("another card of ", one.rank));
}

// Rank 0 waits for all ranks, then says so. A rank that hears it late may find that others have left, and that the
// epoch has changed.
void meet(Session& session, const Membership& all, std::string_view at) {
  need(session.put(concat(at, "/", session.rank()), "here"));
  if (session.rank() != 0) {
    const auto said = session.get(concat("all at ", at), patience);
    if (!said.ok() && said.status().code() != Code::cancelled && said.status().code() != Code::gone)
      need(said.status());
    return;
  }
  for (const Member& one : all.members) need(session.get(concat(at, "/", one.rank), patience));
  need(session.put(concat("all at ", at), "here"));
}

unsigned sum_of(const JobSecret& secret) {
  unsigned sum = 0;
  for (const unsigned char byte : secret) sum = sum * 31 + byte;
  return sum;
}

int take_part(Host& host, const std::string& ending, std::vector<TableEntry> options) {
  const auto plugin = test::make<Rendezvous>(host, "pmix", std::move(options));
  if (!plugin->detected(host)) throw std::runtime_error("no launcher is detected");
  auto session = need(plugin->join(host, {}, patience));
  const std::uint32_t last = session->expected() - 1;
  const Membership seen = need(session->membership(0, patience));
  exchange_cards(*session);
  std::printf("rank %u of %u on %s: %zu members, secret %08x\n", session->rank(), session->expected(),
              seen.members.at(session->rank()).host.c_str(), seen.members.size(), sum_of(session->secret()));
  std::fflush(stdout);
  // All ranks have all cards before the first one ends.
  meet(*session, seen, "cards");
  if (ending.empty()) return 0;
  if (session->rank() == last) {
    if (ending == "die") std::raise(SIGKILL);
    session->leave("it was told to");
    return 0;
  }
  const Membership after = need(session->membership(seen.epoch, patience));
  for (const Departure& one : after.departures)
    std::printf("rank %u sees rank %u go: %s\n", session->rank(), one.who.rank, one.why.c_str());
  exchange_cards(*session);
  std::printf("rank %u goes on with %zu in a later epoch: %s\n", session->rank(), after.members.size(),
              after.epoch > seen.epoch ? "yes" : "no");
  std::fflush(stdout);
  meet(*session, after, "end");
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  test::PluginHost host;
  std::string ending;
  std::vector<TableEntry> options;
  for (int i = 1; i < argc; ++i) {
    if (const char* const text = std::strchr(argv[i], '='))
      options.emplace_back(std::string(const_cast<const char*>(argv[i]), text), test::value(text + 1));
    else
      ending = argv[i];
  }
  try {
    return take_part(host, ending, std::move(options));
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "pmix_party: %s\n", wrong.what());
    return 1;
  }
}
