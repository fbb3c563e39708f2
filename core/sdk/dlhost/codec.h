// Codecs compress contributions: what workers send to servers, or what server groups exchange.
//
//   contributor                                  the process that applies the contribution
//   encode(round 0) -> bytes
//   encode(round 1, before = bytes of round 0)   decode_add(before, bytes of the last round)
//   learn(bytes of the last round)
//
// A contributor makes all rounds of an encoding, one directly after another. So `before` is its own encoding of the
// round before. Where encodings can be added (Traits::sums), `before` and the bytes may also be the sum of several
// contributors' encodings, as add() makes it. Core does not add encodings in this version; dlhost conform does.
//
// The error of an encoding is added to the next one of the same slice (error feedback). The error and the learned
// values are the state of one contributor and slice. Core keeps it, checkpoints it with the contributor, and passes it
// to each encoding.
//
// Thread: one task calls all functions of one object. Each worker has its own object. It encodes this worker's
//   contributions and decodes those of others, for many slices in turns.
// Owns: scratch memory only. An object keeps nothing between two calls that changes a result: another object, perhaps
//   in another process, makes the next call.
// Memory: calls come in the step loop. An object may allocate scratch memory, and keeps it for the next calls.
// Forbidden in every call: to block, read a clock, draw random numbers other than from the given Random, or keep a
//   reference to an argument after the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dlhost/kind.h>
#include <dlhost/random.h>
#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost {

class DLHOST_API Codec : public Plugin {
 public:
  static constexpr Kind kind = Kind::codec;

  // Core refuses a codec that loses values (without error_feedback, and neither lossless nor unbiased) where the values
  // are differences: server groups that exchange encoded params, and workers that send differences of their own values.
  struct Traits {
    bool lossless = false; // decoding gives the values that were encoded
    bool unbiased = false; // the mean of many encodings is the value
    bool sums = false;     // encodings can be added without decoding
    // Needs the whole param in its own shape, row-major, and not a slice of it: a server that owns the param's slice
    // gets all of it. Else the shape is {elements}, or the param's where the slice is the whole param.
    bool whole_matrix = false;
    std::uint32_t rounds = 1;    // rounds of an encoding, at least 1; more than one requires `sums`
    bool error_feedback = false; // core keeps the error and passes it to encode
  };
  // Asked: what core may rely on.
  // Called: before the first step. Requires: the same answer for the whole life of the object.
  virtual Traits traits() const = 0;

  // The present round of an encoding.
  struct Turn {
    std::uint32_t round = 0;
    // The encoding of the round before: this contributor's, or the sum of all contributors'. Empty in round 0.
    std::span<const std::byte> before;
  };
  // The state of one contributor and slice; zeros at first.
  struct State {
    std::span<float> error;   // error of earlier encodings, one for each element; empty without error feedback
    std::span<float> learned; // learns() values
  };

  // Asked: how many learned values core keeps for each contributor and slice of this shape.
  // Called: before the first step. Requires: a function of the shape alone.
  // Default: 0.
  virtual std::size_t learns(const Shape&) const;

  // Asked: the most bytes of any round for a slice of this shape.
  // Called: before the first step, and for each encoding and decoding of a part that server groups exchange. Must be
  //   cheap, and must not allocate.
  // Requires: a function of the shape alone. Unless Traits::whole_matrix, or learns() is not zero: two parts of a slice
  //   need at most as much as the whole slice plus one element. Any part of at least one element may come.
  virtual std::size_t bound(const Shape&) const = 0;

  // Writes the encoding of one round. Returns the number of bytes written.
  // Called: for each encoding once for each round, in their order.
  // Given: `out` has bound() bytes, without alignment, whose contents are undefined. `values` are f32, as many as the
  //   shape has. They are the same in all rounds. A value may be infinite or NaN.
  // Requires: the last round rewrites State::error with what decoding leaves out of values plus error. Earlier rounds
  //   leave it as it is. The same arguments, state and draws make the same bytes.
  // Draws: with Traits::sums the same on all contributors, else independent. They follow from the seed, the slice, the
  //   step and the contributor. All rounds of an encoding draw from one Random, in turn.
  // Errors: end the run. More bytes than bound() are an error too.
  virtual Result<std::size_t> encode(const Turn&, const Shape&, std::span<const float> values, State,
                                     std::span<std::byte> out, Random&) = 0;

  // Adds the values of the last round's bytes, times `factor`, to `values`. `before`: the encoding of the round before
  // the last; empty if there is one round.
  // Called: once for each contribution and receiver. `values` then holds the sum of those before. Core's factor is 1 in
  //   this version.
  // Given: bytes without alignment, from another process. They do not change during the call.
  // Requires: never writes outside `values`, whatever the bytes are. Check their number and every index.
  // Errors: bytes that no encode() makes, as Status::corrupt. They end the run, so `values` may be half added.
  virtual Status decode_add(std::span<const std::byte> before, const Shape&, std::span<const std::byte> in,
                            float factor, std::span<float> values) = 0;

  // Adds one encoding of a round to another of the same shape and round, with the same draws.
  // Called: by dlhost conform alone, in this version, and only with Traits::sums.
  // Requires: decoding the sum gives the sum of what decoding each would give.
  // Errors: the two do not fit.
  // Default: an error, since the traits then say sums = false.
  virtual Status add(std::span<const std::byte> in, std::span<std::byte> into) const;

  // Ends an encoding: State::learned becomes what the next one starts from. `before` and `sum` are the encodings of the
  // last two rounds: this contributor's, or the sums over all.
  // Called: directly after the last round, and only if learns() is not zero.
  // Errors: end the run.
  // Default: does nothing.
  virtual Status learn(std::span<const std::byte> before, const Shape&, std::span<const std::byte> sum, State);
};

} // namespace dlhost
