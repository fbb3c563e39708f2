// A process for tests: prints its address, then returns every message to its sender, until it is killed or alone.
#include <cstdio>
#include <cstdlib>

#include "env/real_host.h"
#include "ways.h"

namespace {
using namespace dlhost;

[[noreturn]] void fail(const Status& status) {
  std::fprintf(stderr, "party: %s\n", status.message().c_str());
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

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  env::RealHost host(LogLevel::warning);
  const auto endpoint = need(test::open_endpoint(host, argv[1], "party"));
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
        need(endpoint->post_recv(in, 0)); // the answer is sent: room for the next message
      }
    }
  }
}
