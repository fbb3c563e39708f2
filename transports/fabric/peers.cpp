// An endpoint's peers: meeting them, and noticing their end.
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include <sodium.h>

#include "endpoint.h"
#include "survey.h"

namespace dlhost::plugins::fabric {
namespace {

// Messages of an ended peer may still arrive this long after the last one.
constexpr Nanoseconds still_comes = 20'000'000;
// The longest wait at the end for peers that have not yet read all messages.
constexpr Nanoseconds farewell = 200'000'000, glance = 100'000;
// A rejected caller calls again at this interval, for this long.
constexpr Nanoseconds between_calls = 20'000'000, time_to_meet = 5'000'000'000;

std::string plain(std::string_view name) {
  std::string word;
  for (const char c : name.substr(0, 64))
    word += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ? c : '_';
  return word.empty() ? "nameless" : word;
}

} // namespace

FabricEndpoint::FabricEndpoint(Host& host, const Setup& setup, std::shared_ptr<Wire> wire, Door door)
    : host_(host), setup_(setup), wire_(std::move(wire)), inject_size_(wire_->info().tx_attr->inject_size),
      token_(std::uint64_t{randombytes_random()} << 32 & wire_->tags().token), door_(std::move(door)),
      watched_(epoll_create1(EPOLL_CLOEXEC)), waker_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Result<std::unique_ptr<Endpoint>> FabricEndpoint::open(Host& host, std::string_view name, const Setup& setup) {
  if (sodium_init() < 0) return Status::internal("libsodium does not start");
  DLHOST_ASSIGN(const std::string at, meeting::own_address_in(setup.listen));
  std::string provider = setup.provider;
  if (provider.empty()) {
    DLHOST_ASSIGN(provider, best_provider(host, at));
  }
  DLHOST_ASSIGN(auto wire, Wire::open(provider, at));
  DLHOST_ASSIGN(auto door, Door::open({at, 0}));
  std::unique_ptr<FabricEndpoint> made(
      new FabricEndpoint(host, setup, std::make_shared<Wire>(std::move(wire)), std::move(door)));
  if (made->watched_.get() < 0 || made->waker_.get() < 0) return Status::system(errno, "making an epoll file");
  DLHOST_TRY(made->watch(made->door_.socket()));
  DLHOST_ASSIGN(const std::string on_the_wire, made->wire_->name());
  made->own_ = Address{.name = plain(name),
                       .provider = made->wire_->provider(),
                       .host = at,
                       .port = made->door_.port(),
                       .wire = on_the_wire}
                   .text();
  return std::unique_ptr<Endpoint>(std::move(made));
}

FabricEndpoint::~FabricEndpoint() { say_goodbye(); }

// Lets sent messages arrive, and tells each receiver how many they were.
void FabricEndpoint::say_goodbye() {
  const Nanoseconds end = host_.clock().now() + farewell;
  const auto wait_while = [&](const auto& any) {
    while (std::ranges::any_of(peers_, any) && host_.clock().now() < end) {
      if (!turn()) sleep(glance); // the receiver may need this core
      look_at_links();
      done_.clear(); // their owner no longer asks
    }
  };
  const auto has_work = [](const auto& peer) { return peer && !peer->told_gone && !peer->under_way.empty(); };
  wait_while(has_work);
  for (auto& peer : peers_)
    if (peer && !peer->told_gone && peer->out && peer->out->has_met()) fabric::say_goodbye(*peer->out, peer->sent);
  const auto reads = [](const auto& peer) { return peer && !peer->told_gone && peer->sent > 0; };
  wait_while(reads);
}

Status FabricEndpoint::watch(int socket) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  if (epoll_ctl(watched_.get(), EPOLL_CTL_ADD, socket, &event) == 0) return {};
  return Status::system(errno, "watching a socket");
}

Result<FabricEndpoint::Peer*> FabricEndpoint::peer(PeerId id) {
  if (id >= peers_.size() || !peers_[id]) return Status::invalid("there is no peer ", id);
  if (peers_[id]->told_gone) return Status::gone("the peer ", peers_[id]->address.called(), " is gone");
  return peers_[id].get();
}

Result<PeerId> FabricEndpoint::known(const std::string& text) {
  for (PeerId id = 0; id < peers_.size(); ++id)
    if (peers_[id] && peers_[id]->text == text) return id;
  DLHOST_ASSIGN(auto address, Address::parse(text));
  if (address.provider != wire_->provider())
    return Status::unsupported("the peer ", address.called(), " speaks '", address.provider, "', and this side '",
                               wire_->provider(), "'; give both the same provider");
  if (peers_.size() > 0xFFFF) return Status::no_space("an endpoint has at most 65536 peers");
  auto made = std::make_unique<Peer>();
  DLHOST_ASSIGN(made->at, wire_->insert(address.wire));
  made->address = std::move(address);
  made->text = text;
  peers_.push_back(std::move(made));
  return static_cast<PeerId>(peers_.size() - 1);
}

Result<PeerId> FabricEndpoint::connect(std::string_view address) {
  DLHOST_ASSIGN(const PeerId id, known(std::string(address)));
  Peer& peer = *peers_[id];
  if (peer.out || peer.told_gone) return id;
  DLHOST_ASSIGN(peer.out, Link::call(terms(), peer.address.where(), peer.text));
  DLHOST_TRY(watch(peer.out->socket()));
  return id;
}

void FabricEndpoint::disconnect(PeerId id) {
  if (id >= peers_.size() || !peers_[id]) return;
  let_go(*peers_[id]);
  wire_->remove(peers_[id]->at);
  peers_[id].reset();
}

// Releases a peer's operations; those that the wire still has are released when it returns them.
void FabricEndpoint::let_go(Peer& peer) {
  for (std::size_t i = 0; i < peer.under_way.size(); ++i) {
    Operation* const operation = peer.under_way[i];
    if (i < peer.posted && !operation->done) {
      operation->orphan = true;
      continue;
    }
    if (i >= peer.posted) --waiting_;
    operations_.give_back(operation);
  }
  peer.under_way.clear();
  peer.posted = 0;
}

void FabricEndpoint::look_at_links() {
  const Nanoseconds now = looked_ = host_.clock().now();
  std::array<epoll_event, 16> events;
  while (epoll_wait(watched_.get(), events.data(), events.size(), 0) == static_cast<int>(events.size())) {
  }
  for (auto& link : door_.turn(host_, terms())) admit(std::move(link));
  for (const int socket : door_.take_new()) watch(socket).ignore("it is polled in any case");
  for (PeerId id = 0; id < peers_.size(); ++id)
    if (peers_[id] && !peers_[id]->told_gone) look_at(id, *peers_[id], now);
}

// Admits a caller that knows the job's secret.
void FabricEndpoint::admit(std::unique_ptr<Link> link) {
  const auto id = known(link->theirs());
  if (!id.ok()) {
    host_.log().write(LogLevel::warning, concat("fabric: ", id.status().message()));
    return;
  }
  Peer& peer = *peers_[*id];
  if (peer.told_gone || peer.in) {
    host_.log().write(LogLevel::warning,
                      concat("fabric: ", peer.address.called(), " calls a second time, and is ignored"));
    return;
  }
  link->welcome({.number = *id, .token = static_cast<std::uint32_t>(token_ >> 32)});
  peer.incoming.emplace(*link);
  peer.in = std::move(link);
}

void FabricEndpoint::look_at(PeerId id, Peer& peer, Nanoseconds now) {
  Status status;
  if (peer.in) status = peer.in->turn();
  if (peer.out) {
    Status of_out = peer.out->turn();
    if (!peer.outgoing && peer.out->has_met()) peer.outgoing.emplace(*peer.out);
    if (status.ok()) status = std::move(of_out);
  }
  std::optional<std::uint64_t> goodbye;
  if (peer.in) {
    auto said = goodbye_of(*peer.in);
    if (said.ok())
      goodbye = *said;
    else if (status.ok())
      status = std::move(said).status();
  }
  const bool all_came = goodbye && *goodbye <= peer.come;
  if (status.ok() && !all_came) return;
  if (!status.ok() && peer.out && !peer.out->has_met() && !peer.in) return call_again(id, peer, status, now);
  if (peer.end.ok()) peer.end = std::move(status);
  // Messages sent before a peer's end still count.
  if (all_came || !peer.in) return end(id, peer);
  if (peer.heard == 0) peer.heard = now; // a message has come since the last look
  if (now - peer.heard > still_comes) end(id, peer);
}

// An orderly end or a death closes the connections; any other end is reported as an error.
void FabricEndpoint::end(PeerId id, Peer& peer) {
  if (peer.end.ok() || peer.end.code() == Code::gone) return bury(id, peer);
  broke(id, peer, peer.end);
}

// A caller that was rejected in favour of strangers tries again.
void FabricEndpoint::call_again(PeerId id, Peer& peer, const Status& why, Nanoseconds now) {
  if (peer.called_in_vain == 0) peer.called_in_vain = now;
  if (why.code() != Code::gone || now - peer.called_in_vain > time_to_meet) return broke(id, peer, why);
  peer.out.reset();
  peer.call_after = now + between_calls;
}

void FabricEndpoint::broke(PeerId id, Peer& peer, const Status& why) {
  host_.log().write(LogLevel::warning, concat("fabric: the peer ", peer.address.called(), ", from ",
                                              own_.substr(0, own_.find('/')), ": ", why.message()));
  bury(id, peer);
}

void FabricEndpoint::bury(PeerId id, Peer& peer) {
  if (peer.told_gone) return;
  peer.told_gone = true;
  let_go(peer);
  peer.out.reset();
  peer.outgoing.reset();
  peer.in.reset();
  complete({.kind = Completion::Kind::gone, .peer = id});
}

} // namespace dlhost::plugins::fabric
