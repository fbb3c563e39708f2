// dlhost's transports: any endpoint, by core's interface.
#include <algorithm>
#include <utility>

#include <dlhost/transport.h>

#include "env/real_host.h"
#include "line.h"
#include "need.h"

namespace dlhost::bench {

namespace {

constexpr Nanoseconds patience = 10'000'000'000;

class EndpointLine final : public Line {
 public:
  explicit EndpointLine(const OpenEndpoint& open) : host_(LogLevel::warning), endpoint_(need(open(host_))) {}
  std::string address() const override { return endpoint_->address(); }
  void connect(const std::string& address) override { peer_ = need(endpoint_->connect(address)); }

  void send(std::span<const std::span<const std::byte>> messages, std::size_t count) override {
    for (std::size_t posted = 0, sent = 0; sent < count;) {
      for (; posted < count && posted < sent + window; ++posted)
        need(endpoint_->post_send(peer_, 1, messages[posted % window], posted));
      sent += wait(Completion::Kind::sent);
    }
  }
  void receive(std::span<const std::span<std::byte>> rooms, std::size_t count,
               const std::function<void(std::size_t, std::span<std::byte>)>& arrived) override {
    for (std::size_t posted = 0, got = 0; got < count;) {
      for (; posted < count && posted < got + window; ++posted)
        need(endpoint_->post_recv(rooms[posted % window], posted));
      const std::size_t more = wait(Completion::Kind::received);
      for (std::size_t i = 0; i < more; ++i, ++got) arrived(got, rooms[got % window]);
    }
  }

 private:
  std::size_t wait(Completion::Kind kind) {
    Completion made[window];
    const std::size_t count = need(endpoint_->progress(made, patience));
    if (count == 0) throw std::runtime_error("nothing arrives");
    const auto these = std::ranges::count(std::span(made).first(count), kind, &Completion::kind);
    if (these == 0) throw std::runtime_error("the other side is gone"); // lost with a completion: it has finished
    return static_cast<std::size_t>(these);
  }

  env::RealHost host_;
  std::unique_ptr<Endpoint> endpoint_;
  PeerId peer_ = 0;
};

} // namespace

std::unique_ptr<Line> make_endpoint_line(const OpenEndpoint& open) { return std::make_unique<EndpointLine>(open); }

} // namespace dlhost::bench
