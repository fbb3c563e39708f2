// An endpoint of the sim transport: its own box, a courier, and links to other endpoints' boxes.
#pragma once

#include "courier.h"

namespace dlhost::plugins::sim {

inline constexpr std::size_t largest_message = std::size_t{1} << 30;

class SimEndpoint final : public Endpoint {
 public:
  SimEndpoint(Host&, std::string_view name, Weather);
  ~SimEndpoint() override;

  std::string address() const override { return own_->address; }
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
  struct Room {
    std::span<std::byte> bytes;
    std::uint64_t cookie = 0;
  };
  struct Peer {
    std::shared_ptr<Link> link; // null: disconnected
    bool told_gone = false;
  };
  Result<std::shared_ptr<Link>> link_to(PeerId) const;
  PeerId known(const std::shared_ptr<Box>&);
  std::unique_ptr<Region> share(std::shared_ptr<Memory>);
  Status ask(std::shared_ptr<Link>, Courier::Errand);
  // Moves letters into rooms, and reports ended peers.
  void receive();
  void look_for_the_dead();
  std::size_t hand_out(std::span<Completion>);

  Host& host_;
  const Weather weather_;
  const std::shared_ptr<Box> own_;
  std::vector<Peer> peers_;
  std::deque<Room> rooms_;
  std::uint64_t regions_ = 0; // number made
  std::unique_ptr<Courier> courier_;
};

} // namespace dlhost::plugins::sim
