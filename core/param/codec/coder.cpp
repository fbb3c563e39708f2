#include "param/codec/coder.h"

#include <algorithm>
#include <cstring>

namespace dlhost::param {
namespace {

// Draws of codecs, apart from all others: of layers, params and shuffles, which count from 0.
constexpr std::uint32_t codec_draws = 0xC0DEC000;

} // namespace

Random draws_of(const CodecUse& use, std::uint64_t seed, SliceId slice, std::uint64_t step, std::uint32_t contributor) {
  const std::uint32_t drawer = use.coding->traits().sums ? 0 : 1 + contributor;
  return Random({seed, codec_draws + slice}, static_cast<std::uint32_t>(step), drawer);
}

Result<std::size_t> encode_alone(const CodecUse& use, const Shape& shape, std::span<const float> values,
                                 const Codec::State& state, std::span<std::byte> room, Random& random,
                                 std::uint64_t step) {
  const std::size_t bound = use.codec->bound(shape);
  const auto bytes = room.subspan(sizeof(Encoding::Lengths));
  Encoding::Lengths lengths;
  use.activity->enter(use.actor, "encode", step);
  const auto encoded = [&]() -> Status {
    for (std::uint32_t round = 0; round < use.coding->traits().rounds; ++round) {
      if (round > 1) std::memmove(bytes.data(), bytes.data() + lengths.before, lengths.last);
      lengths.before = lengths.last;
      DLHOST_ASSIGN(lengths.last, use.codec->encode({.round = round, .before = bytes.first(lengths.before)}, shape,
                                                    values, state, bytes.subspan(lengths.before, bound), random));
      if (lengths.last > bound)
        return Status::internal("codec '", use.actor->plugin, "' says that it wrote ", lengths.last,
                                " bytes, where its bound is ", bound);
    }
    if (state.learned.empty()) return {};
    return use.codec->learn(bytes.first(lengths.before), shape, bytes.subspan(lengths.before, lengths.last), state);
  };
  Status status = encoded();
  use.activity->leave();
  DLHOST_TRY(std::move(status));
  std::memcpy(room.data(), &lengths, sizeof lengths);
  return sizeof lengths + lengths.before + lengths.last;
}

Result<std::unique_ptr<Coder>> Coder::make(Setup setup) {
  std::unique_ptr<Coder> coder(new Coder(setup));
  coder->to_plain_.resize(setup.slices->size());
  for (const Slice& slice : setup.slices->all()) {
    const Coding::Form* form = setup.use.coding->of(slice.id);
    if (!form || !form->plain) continue;
    Store& store = *setup.use.store;
    DLHOST_ASSIGN(coder->to_plain_[slice.id],
                  Conversion::make(store.device(), store.stream(), store.params()[slice.param]->master, *form->plain));
    coder->plain_.resize(std::max(coder->plain_.size(), static_cast<std::size_t>(form->plain->count())));
  }
  return coder;
}

Result<std::size_t> Coder::encode(const Slice& slice, std::size_t place, std::uint64_t step) {
  const CodecUse& use = setup_.use;
  std::span<const float> values = floats(place, static_cast<std::size_t>(slice.count));
  const Coding::Form& form = *use.coding->of(slice.id);
  const Codec::Traits& traits = use.coding->traits();
  traffic_.dense += values.size_bytes();
  if (auto& conversion = to_plain_[slice.id]) {
    DLHOST_TRY(conversion->run(values.data(), plain_.data()));
    values = std::span(plain_).first(static_cast<std::size_t>(form.plain->count()));
  }
  const Coding::State places = use.coding->begin(setup_.memory, slice.id);
  const Codec::State state{.error = traits.error_feedback ? floats(places.error, values.size()) : std::span<float>(),
                           .learned = floats(places.learned, form.learns)};
  Random random = draws_of(use, setup_.seed, slice.id, step, setup_.contributor);
  const auto sent = setup_.memory.subspan(form.sent, Encoding::most_bytes(form.bound, traits.rounds));
  DLHOST_ASSIGN(last_bytes_, encode_alone(use, form.shape, values, state, sent, random, step));
  use.coding->end(setup_.memory, slice.id, step);
  traffic_.sent += last_bytes_;
  return form.sent;
}

Result<std::unique_ptr<Decoder>> Decoder::make(const CodecUse& use, const Slice& slice) {
  std::unique_ptr<Decoder> decoder(new Decoder(use, slice));
  decoder->encoding_.resize(Encoding::most_bytes(decoder->form_.bound, use.coding->traits().rounds));
  decoder->sum_.resize(static_cast<std::size_t>(decoder->form_.shape.count()));
  if (!decoder->form_.plain) return decoder;
  decoder->lying_.resize(static_cast<std::size_t>(slice.count));
  Store& store = *use.store;
  DLHOST_ASSIGN(decoder->from_plain_, Conversion::make(store.device(), store.stream(), *decoder->form_.plain,
                                                       store.params()[slice.param]->master));
  return decoder;
}

Result<std::span<const std::byte>> Decoder::find(std::span<const std::byte> memory, std::uint64_t place) const {
  if (place != form_.sent || place > memory.size())
    return Status::corrupt("an encoding at ", place, ", where none is left");
  const auto left = memory.subspan(place);
  DLHOST_ASSIGN(const Encoding encoding, Encoding::read(left, form_.bound));
  return left.first(encoding.bytes());
}

void Decoder::clear() { std::ranges::fill(sum_, 0.0F); }

Status Decoder::add(std::span<const std::byte> bytes, std::uint64_t step) {
  const auto own = std::span(encoding_).first(bytes.size());
  std::copy(bytes.begin(), bytes.end(), own.begin());
  DLHOST_ASSIGN(const Encoding encoding, Encoding::read(own, form_.bound));
  use_.activity->enter(use_.actor, "decode", step);
  Status status = use_.codec->decode_add(encoding.before, form_.shape, encoding.last, 1, sum_);
  use_.activity->leave();
  return status;
}

Result<const float*> Decoder::sum() {
  if (!from_plain_) return sum_.data();
  DLHOST_TRY(from_plain_->run(sum_.data(), lying_.data()));
  return lying_.data();
}

} // namespace dlhost::param
