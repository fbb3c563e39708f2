// An endpoint of the shm transport: its own inbox, and peers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/circular_buffer.hpp>

#include <dlhost/transport.h>

#include "peer.h"

namespace dlhost::plugins::shm {

inline constexpr std::size_t largest_message = std::size_t{1} << 32;

class ShmEndpoint final : public Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> open(Host&, std::string_view name, const RingShape&);
  ~ShmEndpoint() override;

  std::string address() const override;
  Result<PeerId> connect(std::string_view address) override;
  void disconnect(PeerId) override;
  Status post_send(PeerId, std::uint64_t tag, std::span<const std::byte>, std::uint64_t cookie) override;
  Status post_recv(std::span<std::byte>, std::uint64_t cookie) override;
  Result<std::unique_ptr<Region>> allocate(std::size_t bytes) override;
  Result<std::unique_ptr<Region>> register_memory(std::span<std::byte>) override;
  Status put(PeerId, std::span<const std::byte> from, std::string_view key, std::uint64_t offset,
             std::uint64_t cookie) override;
  Status get(PeerId, std::span<std::byte> into, std::string_view key, std::uint64_t offset,
             std::uint64_t cookie) override;
  Result<std::unique_ptr<Region>> map(PeerId, std::string_view key) override;
  Result<std::size_t> progress(std::span<Completion>, Nanoseconds limit) override;
  void wake() override;

 private:
  ShmEndpoint(Host& host, std::string own, const RingShape& shape);

  Inbox& inbox() const { return *static_cast<Inbox*>(inbox_->data()); }
  Status open_inbox();
  Result<Peer*> peer(PeerId);
  Result<PeerId> known(const std::string& owner);
  void complete(const Completion&);
  // Does all pending work; true: there was some.
  bool turn();
  void accept_new();
  bool send_to(PeerId, Peer&);
  bool receive_from(PeerId, Peer&);
  bool take(PeerId, Peer&, const RingReader<>::Part&);
  void look_for_the_dead();
  void give_room_back(Peer&);
  void bury(PeerId, Peer&);
  std::size_t hand_out(std::span<Completion>);
  void sleep(Nanoseconds until);
  // The peer's region in this process; the most recent ones stay mapped.
  Result<std::span<std::byte>> reach(PeerId, std::string_view key, std::uint64_t offset, std::size_t bytes);

  struct Reached {
    PeerId peer;
    std::string key;
    Segment segment;
  };

  Host& host_;
  std::string own_; // prefix of the names of its segments
  RingShape shape_;
  std::shared_ptr<Segment> inbox_;  // shared with its regions: leftovers are found by its name
  std::uint32_t announcements_ = 0; // number seen so far
  Status broken_;                   // why messages of an announced peer cannot come
  std::uint32_t rings_ = 0, regions_ = 0;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::size_t first_ = 0; // the peer to serve first in the next turn
  boost::circular_buffer<Receiving> rooms_;
  boost::circular_buffer<Completion> done_;
  std::vector<Reached> reached_;
  std::atomic<bool> woken_{false};
  Nanoseconds looked_ = 0; // for dead peers
};

} // namespace dlhost::plugins::shm
