// Parts of a row that go through a codec on their way between neighbours (row_exchange.h).
//
// What leaves is encoded once in an exchange: of what the rank began with, or of what it has made, together with what
// was left out of that before. From then on the rank goes on with what the others read, so that all come to the same.
// What arrived, and is still as it came, leaves as it came. Codecs that need the whole matrix are given all of a slice:
// the sync takes it for one element.
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
    std::span<std::byte> memory;               // of the rank's worker
    std::vector<std::span<std::byte>> rooms{}; // for its messages, one for each turn
    std::size_t received = 0;                  // bytes of what comes, at most
    std::uint64_t seed = 0;
    std::uint32_t contributor = 0;
  };
  // What messages take in one exchange, at most.
  struct Sizes {
    std::size_t sent = 0, received = 0;
  };
  static Sizes sizes(const CodecUse&, const Sync&, const Sync::Ranks&, const Slice&);
  // As many as the sync takes a slice for.
  static std::int64_t elements(const CodecUse&, const Slice&);
  static Result<std::unique_ptr<PartCoder>> make(Setup);

  // An exchange, whose messages go into the room of that turn.
  void begin(std::size_t turn, std::uint64_t step);
  // The message with that part of what this rank began with, or of what it has made, which becomes what that says.
  Result<std::span<const std::byte>> send(bool made, std::int64_t first, std::int64_t count, std::span<float> row);
  // A part of what it began with is wanted in the made row: true, and it is there as others read it, where it was sent.
  Result<bool> take_own(const SyncStep&, std::span<float> made);
  // A neighbour's message, from memory of which nothing is believed.
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
  // What the message is made of: what is known, and what is between.
  Status lay_out(const std::vector<EncodedPiece>& known, std::int64_t first, std::int64_t end);
  // The made row is no longer what was said of this part.
  void forget(std::int64_t first, std::int64_t end);

  const Setup setup_;
  const bool whole_;
  std::uint64_t step_ = 0;
  std::optional<Random> random_;
  std::span<std::byte> room_;
  std::size_t sent_ = 0, received_ = 0; // bytes of them
  std::vector<std::byte> arrived_;
  std::vector<EncodedPiece> begun_, made_; // that are known to others as they are; those of the made row in its order
  std::vector<EncodedPiece> pieces_;       // of one message
  struct {
    bool made = false;
    std::int64_t first = 0, count = 0;
    std::span<const std::byte> message;
  } last_; // that was sent; no message: none, or it is no longer so
  std::optional<Conversion> to_plain_, from_plain_;
  std::vector<float> plain_, lying_; // where the codec sees the param plain, and it does not lie so
};

} // namespace dlhost::param
