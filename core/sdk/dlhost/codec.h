// Codecs: they make contributions smaller.
//
//   contributor                      others                           whoever applies the sum
//   encode(round 0) -> bytes         decode_add() of each, or,
//                                    where Traits::sums, add()
//   encode(round 1, sum of round 0)  the same again                   decode_add()
//   learn(sum of the last round)
//
// What a round leaves out is added to the next exchange (error feedback). That, and what a codec learns, is state: core
// keeps it for each contributor and param, and checkpoints it with that contributor. A codec is used by one task at a
// time.
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
    std::uint32_t rounds = 1;    // exchanges that an encoding takes; several only where it sums
    bool error_feedback = false; // core shall keep what was left out, and pass it
  };
  virtual Traits traits() const = 0;

  // Where an exchange stands.
  struct Turn {
    std::uint32_t round = 0;
    std::span<const std::byte> before; // all contributors' encodings of the last round, added; empty in round 0
  };
  // Of one contributor and slice; zeros at first.
  struct State {
    std::span<float> error;   // what earlier exchanges left out, an element each; empty without error feedback
    std::span<float> learned; // as many as learns() says
  };
  virtual std::size_t learns(const Shape&) const;

  // The most bytes that any round writes for a slice of this shape. Of codecs that do not need the whole matrix: two
  // parts of it need at most as much as the whole, and one element.
  virtual std::size_t bound(const Shape&) const = 0;
  // Returns the bytes written. In the last round the error is rewritten. Draws are the same at all contributors where
  // Traits::sums, and independent else.
  virtual Result<std::size_t> encode(const Turn&, const Shape&, std::span<const float> values, State,
                                     std::span<std::byte> out, Random&) = 0;
  // Adds what the bytes of the last round say, times `factor`. Bytes come from outside: nothing in them is believed.
  virtual Status decode_add(std::span<const std::byte> before, const Shape&, std::span<const std::byte> in,
                            float factor, std::span<float> values) = 0;
  // Adds one encoding to another, where Traits::sums.
  virtual Status add(std::span<const std::byte> in, std::span<std::byte> into) const;
  // The end of an exchange, where learns() is not zero.
  virtual Status learn(std::span<const std::byte> before, const Shape&, std::span<const std::byte> sum, State);
};

} // namespace dlhost
