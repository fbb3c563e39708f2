// Encodes and decodes the parts of a row that neighbours exchange (row_exchange.h).
//
// A part of the begun row or of the made row is encoded once in an exchange, with the error that earlier encodings left
// out. From then on this rank uses the decoded part too, so that all ranks get the same result. A part that has arrived
// and has not changed since is sent on in its encoded form. Codecs that need the whole matrix get the whole slice: the
// sync then counts it as one element.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <dlhost/random.h>
#include <dlhost/sync.h>

#include "param/codec/coder.h"
#include "param/codec/pieces.h"

namespace dlhost::param {

class PartCoder {
 public:
  struct Setup {
    CodecUse use;
    const Slice* slice = nullptr;
    std::span<std::byte> memory; // of the rank's worker
    std::size_t received = 0;    // the most bytes that arrive in one exchange
    std::uint64_t seed = 0;
    std::uint32_t contributor = 0;
  };
  // The most bytes of the messages of one exchange.
  struct Sizes {
    std::size_t sent = 0, received = 0;
  };
  static Sizes sizes(const CodecUse&, const Sync&, const Sync::Ranks&, const Slice&);
  // The number of elements that the sync counts a slice as.
  static std::int64_t elements(const CodecUse&, const Slice&);
  static Result<std::unique_ptr<PartCoder>> make(Setup);

  // Begins an exchange. The messages are written into `room`.
  void begin(std::span<std::byte> room, std::uint64_t step);
  // Writes the message with a part of the begun or the made row. A part of the made row becomes its decoded values.
  Result<std::span<const std::byte>> send(bool made, std::int64_t first, std::int64_t count, std::span<float> row);
  // Moves a part of the begun row into the made row, as the others decode it. Returns false if the part was not sent:
  // then the caller moves it.
  Result<bool> take_own(const SyncStep&, std::span<float> made);
  // Takes a neighbour's message from its memory, which is untrusted.
  Status take(std::span<const std::byte> message, const SyncStep&, std::span<float> made);

 private:
  explicit PartCoder(Setup setup);
  static bool takes_whole(const CodecUse&, const Slice&);
  Shape shape_of(std::int64_t count) const;
  Result<std::span<std::byte>> encode(std::int64_t first, std::int64_t count, std::span<const float> row,
                                      std::span<std::byte> room);
  Status decode(const EncodedPiece&, SyncStep::Act, std::span<float> row);
  static void insert(std::vector<EncodedPiece>&, const EncodedPiece&);
  Status is_full() const;
  // Divides a message into the pieces that are encoded already, and those between them.
  Status lay_out(const std::vector<EncodedPiece>& known, std::int64_t first, std::int64_t end);
  // Forgets the encoded forms of a part of the made row, which is about to change.
  void forget(std::int64_t first, std::int64_t end);

  const Setup setup_;
  const bool whole_;
  std::uint64_t step_ = 0;
  std::optional<Random> random_;
  std::span<std::byte> room_;
  std::size_t sent_ = 0, received_ = 0; // bytes used in room_ and arrived_
  std::vector<std::byte> arrived_;
  std::vector<EncodedPiece> begun_, made_; // encoded forms of the present values, in the order of the elements
  std::vector<EncodedPiece> pieces_;       // of one message
  struct {
    bool made = false;
    std::int64_t first = 0, count = 0;
    std::span<const std::byte> message;
  } last_; // the message sent last; empty: none, or its part has changed
  std::optional<Conversion> to_plain_, from_plain_;
  std::vector<float> plain_, lying_; // the slice in the plain layout, and in the master's, if they differ
};

} // namespace dlhost::param
