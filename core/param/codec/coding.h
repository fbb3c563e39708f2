// Contributions that go through a codec: which slices, in which shape the codec gets them, and the places of encodings
// and codec state in a worker's memory. Every process with the same net computes the same layout.
//
// A contributor makes all rounds of an encoding alone. Servers add the decoded values, so contributors need not be at
// the same round. Codecs that need the whole matrix get it plain; the others get a slice in the master's format.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <dlhost/codec.h>

#include "param/file/checkpoint.h"
#include "param/store/store.h"
#include "param/table/slices.h"

namespace dlhost::param {

class Coding {
 public:
  // The layout begins after `begin` bytes. Params with fewer elements than `least` are not encoded. `sent`: the memory
  // also holds the encodings. `outlived`: the codec's state is kept twice, after the last encoding of a slice and after
  // the one before it, so that it survives a death in the middle of the next encoding.
  struct Kind {
    bool sent = true, outlived = false;
  };
  Coding(const Store&, const Slices&, const Codec&, std::int64_t least, std::size_t begin, Kind kind);

  struct Form { // of a slice
    Shape shape;
    std::optional<TensorDesc> plain; // the param, if the codec gets it plain and the master is not plain
    std::size_t bound = 0;           // bytes of an encoding
    std::size_t learns = 0;
    // Places in a worker's memory.
    std::size_t sent = 0, error = 0, learned = 0;
  };
  // Null: the slice is not encoded.
  const Form* of(SliceId slice) const { return forms_[slice] ? &*forms_[slice] : nullptr; }
  const Codec::Traits& traits() const { return traits_; }

  std::size_t sent_end() const { return sent_end_; } // end of the part that servers read
  std::size_t end() const { return end_; }

  // Bytes that the servers' decoders allocate, all slices together.
  std::size_t decoded_bytes() const;
  // The codec state of a worker, as named in checkpoints, and its bytes.
  bool keeps() const { return !kept_.empty(); }
  std::size_t kept_bytes() const;
  // The state from which the step `before(slice)` is encoded: later encodings of the slice are not in it. Without
  // `before`: the newest state. `gathered` holds copies for params whose slices differ in which copy is valid.
  using Before = std::function<std::uint64_t(SliceId)>;
  std::vector<TensorPlace> kept(std::span<std::byte> memory, const Before& before,
                                std::vector<std::vector<std::byte>>& gathered) const;
  // The state of one slice. Requires: not `outlived`, so that there is one copy.
  std::vector<std::span<const std::byte>> kept_of(std::span<const std::byte> memory, SliceId) const;
  // Begins an encoding of the slice: returns the state that the codec changes. With `outlived` that is a copy of the
  // newest.
  struct State {
    std::size_t error = 0, learned = 0;
  };
  State begin(std::span<std::byte> memory, SliceId) const;
  // Ends the encoding: the state from begin() becomes the newest.
  void end(std::span<std::byte> memory, SliceId, std::uint64_t step) const;
  // Begins a run. `kept`: the first copy holds the state of an earlier run. Else the state is cleared.
  void clear(std::span<std::byte> memory, bool kept) const;

 private:
  Form form_of(const Param&, const Slice&, const Codec&) const;

  Codec::Traits traits_;
  std::vector<std::optional<Form>> forms_; // by slice
  struct Piece {                           // of a slice
    SliceId slice = 0;
    std::size_t place = 0, bytes = 0;
  };
  struct Kept {
    std::string name;
    TensorDesc desc;
    std::size_t place = 0;
    std::vector<Piece> pieces{};
  };
  using Tag = std::atomic<std::uint64_t>; // the step after the last encoding in a copy
  static_assert(Tag::is_always_lock_free, "processes share it, and one may be killed at any point");
  static constexpr std::uint64_t half_made = ~std::uint64_t{0};
  Tag& tag(std::span<std::byte> memory, SliceId, std::size_t copy) const;
  // Number of the copy.
  std::size_t newest(std::span<std::byte> memory, SliceId, std::uint64_t before = half_made) const;

  std::vector<Kept> kept_;
  std::size_t sent_end_, end_;
  std::size_t copy_bytes_ = 0, tags_ = 0; // bytes from one copy to the other; 0: one copy
};

// The bytes that a worker sends for a slice: the sum of the next to last round, if there are several, and the last
// round.
struct Encoding {
  std::span<const std::byte> before, last;
  std::size_t bytes() const { return sizeof(Lengths) + before.size() + last.size(); }

  struct Lengths { // the header
    std::uint64_t before = 0, last = 0;
  };
  // Reads untrusted memory. Errors: lengths beyond `bound` or the memory.
  static Result<Encoding> read(std::span<const std::byte>, std::size_t bound);
  static constexpr std::size_t most_bytes(std::size_t bound, std::uint32_t rounds) {
    return sizeof(Lengths) + (rounds > 1 ? 2 : 1) * bound;
  }
};

} // namespace dlhost::param
