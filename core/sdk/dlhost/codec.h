// Codecs compress contributions.
//
//   contributor                      others                           the process that applies the sum
//   encode(round 0) -> bytes         decode_add() of each, or,
//                                    with Traits::sums, add()
//   encode(round 1, sum of round 0)  the same again                   decode_add()
//   learn(sum of the last round)
//
// The error of an exchange is added to the next one (error feedback). The error and the learned values are state: core
// keeps them for each contributor and param, and checkpoints them with the contributor. Thread: one task at a time.
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
  struct Traits {
    bool lossless = false;
    bool unbiased = false;       // the mean of many encodings is the value
    bool sums = false;           // encodings can be added without decoding
    bool whole_matrix = false;   // needs the whole param, not a slice
    std::uint32_t rounds = 1;    // rounds of an exchange; more than one requires `sums`
    bool error_feedback = false; // core keeps the error and passes it to encode
  };
  virtual Traits traits() const = 0;

  // The present round of an exchange.
  struct Turn {
    std::uint32_t round = 0;
    std::span<const std::byte> before; // the sum of all contributors' encodings of the last round; empty in round 0
  };
  // The state of one contributor and slice; zeros at first.
  struct State {
    std::span<float> error;   // error of earlier exchanges, one for each element; empty without error feedback
    std::span<float> learned; // learns() values
  };
  virtual std::size_t learns(const Shape&) const;

  // The most bytes of any round for a slice of this shape. Requires, unless Traits::whole_matrix: two parts of a slice
  // need at most as much as the whole slice plus one element.
  virtual std::size_t bound(const Shape&) const = 0;
  // Returns the number of bytes written. The last round rewrites the error. With Traits::sums the draws are the same on
  // all contributors, else independent.
  virtual Result<std::size_t> encode(const Turn&, const Shape&, std::span<const float> values, State,
                                     std::span<std::byte> out, Random&) = 0;
  // Adds the values of the last round's bytes, times `factor`. The bytes are untrusted: check them.
  virtual Status decode_add(std::span<const std::byte> before, const Shape&, std::span<const std::byte> in,
                            float factor, std::span<float> values) = 0;
  // Adds one encoding to another. Called only with Traits::sums.
  virtual Status add(std::span<const std::byte> in, std::span<std::byte> into) const;
  // Ends an exchange. Called only if learns() is not zero.
  virtual Status learn(std::span<const std::byte> before, const Shape&, std::span<const std::byte> sum, State);
};

} // namespace dlhost
