// The two ends of an encoded contribution: a worker encodes, a server decodes and adds. After make() only the codec may
// allocate.
// Thread: each belongs to one task, with a codec of its own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "param/codec/coding.h"
#include "param/store/transfer.h"
#include "plugin/activity.h"
#include "record/traffic.h"

namespace dlhost::param {

// A codec in use.
struct CodecUse {
  Store* store = nullptr;
  const Coding* coding = nullptr;
  Codec* codec = nullptr;
  const plugin::Actor* actor = nullptr;
  plugin::Activity* activity = nullptr;

  bool encodes(const Slice& slice) const { return coding && coding->of(slice.id); }
};

// The random numbers for a contributor's encoding of a slice in a step. Codecs whose encodings are summed draw the same
// numbers on all contributors. The others draw independently, so that their errors do not add up.
Random draws_of(const CodecUse&, std::uint64_t seed, SliceId, std::uint64_t step, std::uint32_t contributor);
// Makes all rounds of an encoding from one contributor and writes it to `room` as an Encoding. Returns its bytes.
Result<std::size_t> encode_alone(const CodecUse&, const Shape&, std::span<const float> values, const Codec::State&,
                                 std::span<std::byte> room, Random&, std::uint64_t step);

class Coder {
 public:
  struct Setup {
    CodecUse use;
    const Slices* slices = nullptr;
    std::span<std::byte> memory; // the worker's memory
    std::uint64_t seed = 0;
    std::uint32_t contributor = 0; // number of this contributor
  };
  static Result<std::unique_ptr<Coder>> make(Setup);

  bool encodes(const Slice& slice) const { return setup_.use.encodes(slice); }
  // Encodes from one place in the worker's memory into another. Returns the place of the encoding.
  Result<std::size_t> encode(const Slice&, std::size_t values, std::uint64_t step);
  std::size_t last_bytes() const { return last_bytes_; } // of the last encoding

  const record::Traffic& traffic() const { return traffic_; }

 private:
  explicit Coder(const Setup& setup) : setup_(setup) {}
  std::span<float> floats(std::size_t place, std::size_t count) const {
    return {reinterpret_cast<float*>(setup_.memory.data() + place), count};
  }

  const Setup setup_;
  std::vector<std::optional<Conversion>> to_plain_; // by slice
  std::vector<float> plain_;                        // as large as the largest converted param
  record::Traffic traffic_;
  std::size_t last_bytes_ = 0;
};

// Decodes the contributions to one slice.
class Decoder {
 public:
  static Result<std::unique_ptr<Decoder>> make(const CodecUse&, const Slice&);

  // Returns the encoding at `place` in a worker's memory. Errors: no encoding can be there.
  Result<std::span<const std::byte>> find(std::span<const std::byte> memory, std::uint64_t place) const;
  void clear();
  Status add(std::span<const std::byte> encoding, std::uint64_t step);
  // The sum since clear(), in the master's format.
  Result<const float*> sum();

 private:
  Decoder(const CodecUse& use, const Slice& slice) : use_(use), form_(*use.coding->of(slice.id)) {}

  const CodecUse use_;
  const Coding::Form& form_;
  std::vector<std::byte> encoding_; // a copy of one contribution, which cannot change during decoding
  std::vector<float> sum_;          // in the codec's format
  std::vector<float> lying_;        // in the master's format, if that differs
  std::optional<Conversion> from_plain_;
};

} // namespace dlhost::param
