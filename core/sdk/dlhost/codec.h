// Codecs: they make contributions smaller. Error feedback (what a round left out is added to the next) is state that
// core keeps, one f32 tensor a slice, checkpointed with it.
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
    bool sums = false;           // encoded contributions can be added without decoding
    bool whole_matrix = false;   // needs the whole param, not a slice
    std::uint32_t rounds = 1;    // exchanges that an encoding takes
    bool error_feedback = false; // core shall keep and pass it
  };
  virtual Traits traits() const = 0;
  // The most bytes that `encode` writes for a slice of this shape.
  virtual std::size_t bound(const Shape&) const = 0;
  // `error` (empty without feedback) holds what earlier rounds left out and is rewritten. Returns the bytes written.
  virtual Result<std::size_t> encode(std::uint32_t round, const Shape&, std::span<const float> values,
                                     std::span<float> error, std::span<std::byte> out, Random&) = 0;
  // Adds what the bytes say, times `factor`. Bytes come from outside: nothing in them is believed.
  virtual Status decode_add(std::uint32_t round, const Shape&, std::span<const std::byte> in, float factor,
                            std::span<float> values) const = 0;
  // Adds one encoding to another, where Traits::sums.
  virtual Status add(std::span<const std::byte> in, std::span<std::byte> into) const;
};

} // namespace dlhost
