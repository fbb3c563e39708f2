// An endpoint whose messages, and optionally the bytes put into its memory, only members of the job can read or make.
// It seals all outgoing bytes (XChaCha20-Poly1305) with a key derived from the job's secret. It wraps an endpoint of
// any transport and is used like it.
//
//   message  a frame with the sealed message: the receiver opens it and hands it to its caller
//   put      the transport puts the sealed bytes into memory beside the receiver's region; then the frame `unseal`:
//            the receiver opens the bytes into the region, and answers with the frame `unsealed`, which ends the put
//
// Each frame and each put has its own nonce: the sender's id and a counter. A frame is bound to its receiver's address.
// Frames that fail to open, or whose counter is not new, are dropped and counted.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/circular_buffer.hpp>

#include <dlhost/transport.h>

#include "param/message/bundle.h"

namespace dlhost::param {

class EncryptedEndpoint final : public Endpoint {
 public:
  enum class What : std::uint8_t { messages, all };
  // Wraps an endpoint. `secret`: the job's; empty if all endpoints are of one process.
  // Errors: post_send() is invalid for messages of more than largest_message bytes.
  static Result<std::unique_ptr<Endpoint>> around(Host&, std::unique_ptr<Endpoint>, std::span<const std::byte> secret,
                                                  What);
  static constexpr std::size_t largest_message = bundle_bytes;
  ~EncryptedEndpoint() override;

  std::string address() const override { return inner_->address(); }
  Result<PeerId> connect(std::string_view address) override;
  void disconnect(PeerId peer) override;
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
  void wake() override { inner_->wake(); }
  bool puts_in_order() const override { return what_ == What::messages && inner_->puts_in_order(); }

  // Frames that failed to open or were replayed.
  std::uint64_t dropped() const { return dropped_; }

 private:
  static constexpr std::size_t id_bytes = 16, nonce_bytes = 24, seal_bytes = 16;
  static constexpr std::size_t frame_bytes = nonce_bytes + 1 + sizeof(std::uint64_t) + largest_message + seal_bytes;
  using Nonce = std::array<unsigned char, nonce_bytes>;
  using Mac = std::array<unsigned char, seal_bytes>;
  using Frame = std::array<std::byte, frame_bytes>;
  enum class Kind : std::uint8_t { message = 1, unseal, unsealed };
  struct Peer {
    std::string address; // not connected if empty
    // The sender's id and the counter of its last frame.
    std::optional<std::array<unsigned char, id_bytes>> id;
    std::uint64_t counted = 0;
  };
  struct Slot { // a frame that is being sent
    Frame bytes{};
    bool told = false; // the caller gets a completion of the send, with `cookie`
    std::uint64_t cookie = 0;
  };
  struct Room { // a posted receive
    std::span<std::byte> bytes;
    std::uint64_t cookie = 0;
  };
  struct Body { // of a frame, opened
    Kind kind = Kind::message;
    std::array<std::byte, sizeof(std::uint64_t) + largest_message> bytes; // the first `count` are valid
    std::size_t count = 0;
  };
  struct Put {
    bool made = false; // the transport is done; the receiver has yet to open it
    bool free = true;
    bool lost = false; // the peer is gone
    PeerId peer = 0;
    std::string key;
    std::uint64_t offset = 0, bytes = 0, cookie = 0, count = 0;
    Mac mac{};
    std::unique_ptr<Region> sealed;
  };
  struct Beside { // sealed memory, and the plain memory it is opened into
    std::span<std::byte> sealed, plain;
  };
  class Opened; // a region

  EncryptedEndpoint(Host& host, std::unique_ptr<Endpoint> inner, What what);
  Nonce next_nonce();
  Peer& peer_of(PeerId);
  Status send(PeerId, Kind, std::span<const std::byte> body, std::optional<std::uint64_t> cookie);
  Status send_or_keep(PeerId, Kind, std::span<const std::byte> body);
  Status send_kept();
  std::optional<Body> open(PeerId, std::span<const std::byte> frame);
  Status take(const Completion&);
  Status received(const Completion&);
  Status deal_with(PeerId, const Body&);
  void hand_over(PeerId, const Body&);
  Status unseal(PeerId, std::span<const std::byte> body);
  void drop(PeerId);
  Result<Put*> free_put(std::size_t bytes);
  std::unique_ptr<Region> opened(std::unique_ptr<Region> sealed, std::span<std::byte> plain,
                                 std::vector<std::byte> own);

  Host& host_;
  const What what_;
  std::string self_; // address of this endpoint
  std::array<unsigned char, 32> key_{};
  std::array<unsigned char, id_bytes> id_{};
  std::uint64_t count_ = 0, dropped_ = 0;
  std::vector<Peer> peers_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<Frame> frames_; // posted receives of the transport
  boost::circular_buffer<Room> rooms_;
  struct Arrived {
    PeerId peer = 0;
    Body body;
  };
  boost::circular_buffer<Arrived> arrived_; // messages without a posted receive
  struct Kept {
    PeerId peer = 0;
    Body body;
  };
  boost::circular_buffer<Kept> kept_; // frames without a free slot
  std::vector<std::unique_ptr<Put>> puts_;
  std::size_t put_bytes_ = 0;                                   // of unfinished puts
  using Memory = std::map<std::string, Beside, std::less<>>;    // by key
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>(); // shared, because regions may outlive the endpoint
  boost::circular_buffer<Completion> ready_;
  std::vector<Completion> inner_done_;
  std::unique_ptr<Endpoint> inner_; // last, so destroyed first: it uses the memory above
};

} // namespace dlhost::param
