// A process for tests: says its address, then sends back every message that it gets, until it is killed.
#include <cstdio>
#include <cstdlib>

#include "endpoint.h"
#include "env/real_host.h"

namespace {
using namespace dlhost;
using namespace dlhost::plugins::shm;

[[noreturn]] void fail(const Status& status) {
  std::fprintf(stderr, "shm_party: %s\n", status.message().c_str());
  std::exit(1);
}
template <class T> T need(Result<T> result) {
  if (!result.ok()) fail(result.status());
  return *std::move(result);
}
void need(const Status& status) {
  if (!status.ok()) fail(status);
}

} // namespace

int main() {
  env::RealHost host(LogLevel::warning);
  const auto endpoint = need(ShmEndpoint::open(host, "party", {.cells = 8, .block = 1024}));
  std::printf("%s\n", endpoint->address().c_str());
  std::fflush(stdout);
  constexpr std::size_t largest = 100000;
  std::vector<std::byte> in(largest), out(largest);
  need(endpoint->post_recv(in, 0));
  for (;;) {
    Completion made[4];
    const std::size_t count = need(endpoint->progress(made, 10'000'000'000));
    for (std::size_t i = 0; i < count; ++i) {
      if (made[i].kind == Completion::Kind::gone) return 0;
      if (made[i].kind == Completion::Kind::received) {
        std::copy_n(in.begin(), made[i].bytes, out.begin());
        need(endpoint->post_send(made[i].peer, made[i].tag, std::span(out).first(made[i].bytes), 1));
      } else if (made[i].kind == Completion::Kind::sent) {
        need(endpoint->post_recv(in, 0)); // the answer has left: the next may come
      }
    }
  }
}
