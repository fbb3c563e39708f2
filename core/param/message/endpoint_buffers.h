// An endpoint of a transport with its buffers: rooms into which messages arrive, and pieces from which they are sent.
// Owns: the endpoint and the buffers. Thread: the task's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <dlhost/transport.h>

namespace dlhost::param {

class EndpointBuffers {
 public:
  // Buffers of `largest` bytes each. All rooms are posted.
  static Result<std::unique_ptr<EndpointBuffers>> open(std::unique_ptr<Endpoint>, std::size_t largest);
  // The number of rooms, and of pieces.
  static constexpr std::size_t count = 64;

  Endpoint& endpoint() const { return *endpoint_; }
  // Ends all traffic.
  void close() { endpoint_.reset(); }

  std::span<std::byte> room(std::size_t which) { return std::span(rooms_).subspan(which * largest_, largest_); }
  // The room's message is read: another one may arrive there.
  Status empty_room(std::size_t which) { return endpoint_->post_recv(room(which), which); }

  // A piece that is not being sent; none: all are.
  std::optional<std::uint32_t> free_piece() const;
  std::span<std::byte> piece(std::size_t which) { return std::span(pieces_).subspan(which * largest_, largest_); }
  // The transport sends that free piece to a seat.
  void start(std::uint32_t piece, std::uint32_t seat);
  // The transport has sent it.
  void finish(std::uint32_t piece);
  // Frees the pieces that are being sent to a seat: the transport completes them no more.
  void drop(std::uint32_t seat);
  bool sends_nothing() const { return free_.size() == count; }

 private:
  static constexpr std::uint32_t no_seat = ~std::uint32_t{0};

  EndpointBuffers(std::unique_ptr<Endpoint>, std::size_t largest);

  const std::size_t largest_; // bytes of a buffer
  std::vector<std::byte> rooms_, pieces_;
  std::vector<std::uint32_t> free_;    // pieces that are not being sent
  std::vector<std::uint32_t> to_;      // per piece: the seat that it is being sent to
  std::unique_ptr<Endpoint> endpoint_; // last, so destroyed first: it uses the buffers
};

} // namespace dlhost::param
