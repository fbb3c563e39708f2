// The two ends of an encoded contribution: a worker's, which encodes, and a server's, which adds up what it decodes.
// Each belongs to a task, with a codec of its own; after make() they allocate nothing but what codecs do.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "param/codec/coding.h"
#include "param/store/transfer.h"
#include "plugin/activity.h"
#include "record/traffic.h"

namespace dlhost::param {

// A codec that is at work.
struct CodecUse {
  Store* store = nullptr;
  const Coding* coding = nullptr;
  Codec* codec = nullptr;
  const plugin::Actor* actor = nullptr;
  plugin::Activity* activity = nullptr;

  bool encodes(const Slice& slice) const { return coding && coding->of(slice.id); }
};

// What a contributor draws for the encodings of a slice in a step. Codecs whose encodings add up draw alike everywhere;
// the others' errors must not add up.
Random draws_of(const CodecUse&, std::uint64_t seed, SliceId, std::uint64_t step, std::uint32_t contributor);
// All rounds of an encoding, which one contributor makes alone, as an Encoding lies. Returns its bytes.
Result<std::size_t> encode_alone(const CodecUse&, const Shape&, std::span<const float> values, const Codec::State&,
                                 std::span<std::byte> room, Random&, std::uint64_t step);

class Coder {
 public:
  struct Setup {
    CodecUse use;
    const Slices* slices = nullptr;
    std::span<std::byte> memory; // the worker's own
    std::uint64_t seed = 0;
    std::uint32_t contributor = 0; // which it is
  };
  static Result<std::unique_ptr<Coder>> make(Setup);

  bool encodes(const Slice& slice) const { return setup_.use.encodes(slice); }
  // From one place in the worker's memory to another, which it says.
  Result<std::size_t> encode(const Slice&, std::size_t values, std::uint64_t step);
  std::size_t last_bytes() const { return last_bytes_; } // of what was encoded last

  const record::Traffic& traffic() const { return traffic_; }

 private:
  explicit Coder(const Setup& setup) : setup_(setup) {}
  std::span<float> floats(std::size_t place, std::size_t count) const {
    return {reinterpret_cast<float*>(setup_.memory.data() + place), count};
  }

  const Setup setup_;
  std::vector<std::optional<Conversion>> to_plain_; // by slice
  std::vector<float> plain_;                        // of the largest that is converted
  record::Traffic traffic_;
  std::size_t last_bytes_ = 0;
};

// Of one slice.
class Decoder {
 public:
  static Result<std::unique_ptr<Decoder>> make(const CodecUse&, const Slice&);

  // What a worker left in its memory, at the place that it names.
  Result<std::span<const std::byte>> find(std::span<const std::byte> memory, std::uint64_t place) const;
  void clear();
  Status add(std::span<const std::byte> encoding, std::uint64_t step);
  // All that was added since clear(), as the master lies.
  Result<const float*> sum();

 private:
  Decoder(const CodecUse& use, const Slice& slice) : use_(use), form_(*use.coding->of(slice.id)) {}

  const CodecUse use_;
  const Coding::Form& form_;
  std::vector<std::byte> encoding_; // of one contribution: what is decoded does not change meanwhile
  std::vector<float> sum_;          // as the codec has it
  std::vector<float> lying_;        // as the master lies, where that differs
  std::optional<Conversion> from_plain_;
};

} // namespace dlhost::param
