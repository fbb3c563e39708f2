// Contributions that go through a codec: whose, how the codec sees them, and where in a worker's own memory lie what it
// sends and what the codec keeps for it. All who know the net lay it out alike.
//
// A contributor makes all rounds of an encoding by itself: servers add up what is decoded, so that no two contributors
// have to be at the same round. Codecs that need the whole matrix see it plain; the others see a slice as it lies.
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
  // Behind `begin` bytes. Params of fewer elements than `least` are sent as they are. `outlived`: what a codec keeps is
  // there twice, as it was after the last encoding of a slice and after the one before it, whoever dies in the midst of
  // the next. Not `sent`: encodings lie elsewhere.
  struct Kind {
    bool sent = true, outlived = false;
  };
  Coding(const Store&, const Slices&, const Codec&, std::int64_t least, std::size_t begin, Kind kind);

  struct Form { // of a slice
    Shape shape;
    std::optional<TensorDesc> plain; // the param, where the codec sees it plain and it does not lie so
    std::size_t bound = 0;           // bytes of an encoding
    std::size_t learns = 0;
    // In a worker's memory.
    std::size_t sent = 0, error = 0, learned = 0;
  };
  // Null: it is sent as it is.
  const Form* of(SliceId slice) const { return forms_[slice] ? &*forms_[slice] : nullptr; }
  const Codec::Traits& traits() const { return traits_; }

  std::size_t sent_end() const { return sent_end_; } // servers read up to here
  std::size_t end() const { return end_; }

  // What servers take for sums of what they decode, in all.
  std::size_t decoded_bytes() const;
  // What a worker keeps, as checkpoints name it; in so many bytes.
  bool keeps() const { return !kept_.empty(); }
  std::size_t kept_bytes() const;
  // As it was when it had encoded of a slice what came before that step; a run that goes on from there has it so. The
  // newest, if none is said. `gathered`: where the slices of a param differ in that.
  using Before = std::function<std::uint64_t(SliceId)>;
  std::vector<TensorPlace> kept(std::span<std::byte> memory, const Before& before,
                                std::vector<std::vector<std::byte>>& gathered) const;
  // Of one slice, where there is one copy.
  std::vector<std::span<const std::byte>> kept_of(std::span<const std::byte> memory, SliceId) const;
  // Of that slice, what is to be changed by its next encoding: a copy of what is newest, where that is to outlive it.
  struct State {
    std::size_t error = 0, learned = 0;
  };
  State begin(std::span<std::byte> memory, SliceId) const;
  // It is made.
  void end(std::span<std::byte> memory, SliceId, std::uint64_t step) const;
  // A run begins: what an earlier one kept is there, in the first copy, or nothing was ever encoded.
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
  using Tag = std::atomic<std::uint64_t>; // the step behind the last that is in a copy
  static_assert(Tag::is_always_lock_free, "processes share it, and one may be killed at any point");
  static constexpr std::uint64_t half_made = ~std::uint64_t{0};
  Tag& tag(std::span<std::byte> memory, SliceId, std::size_t copy) const;
  // Which copy.
  std::size_t newest(std::span<std::byte> memory, SliceId, std::uint64_t before = half_made) const;

  std::vector<Kept> kept_;
  std::size_t sent_end_, end_;
  std::size_t copy_bytes_ = 0, tags_ = 0; // from one copy to the other; 0: there is one
};

// What a worker sends of a slice: the sum of the round before the last, where there are several, and the last round's.
struct Encoding {
  std::span<const std::byte> before, last;
  std::size_t bytes() const { return sizeof(Lengths) + before.size() + last.size(); }

  struct Lengths { // what it begins with
    std::uint64_t before = 0, last = 0;
  };
  // From memory of somebody else: nothing in it is believed.
  static Result<Encoding> read(std::span<const std::byte>, std::size_t bound);
  static constexpr std::size_t most_bytes(std::size_t bound, std::uint32_t rounds) {
    return sizeof(Lengths) + (rounds > 1 ? 2 : 1) * bound;
  }
};

} // namespace dlhost::param
