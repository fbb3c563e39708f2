#include "param/codec/part_coder.h"

#include <algorithm>
#include <cstring>

#include "param/exchange/dry_run.h"

namespace dlhost::param {

bool PartCoder::takes_whole(const CodecUse& use, const Slice& slice) {
  return use.coding->traits().whole_matrix || use.coding->of(slice.id)->learns > 0;
}

std::int64_t PartCoder::elements(const CodecUse& use, const Slice& slice) {
  return takes_whole(use, slice) ? 1 : slice.count;
}

// A message has at most one piece per rank, in the order of the elements. Each piece is padded.
PartCoder::Sizes PartCoder::sizes(const CodecUse& use, const Sync& sync, const Sync::Ranks& ranks, const Slice& slice) {
  const bool whole = takes_whole(use, slice);
  const std::uint32_t rounds = use.coding->traits().rounds;
  const auto most = [&](std::size_t bound) { return most_piece_bytes(Encoding::most_bytes(bound, rounds)); };
  const auto bytes = [&](const SyncStep& step) -> std::size_t {
    if (step.count == 0) return before_pieces(0);
    if (whole) return piece_lines(before_pieces(1) + most(use.coding->of(slice.id)->bound));
    return piece_lines(before_pieces(ranks.count) + most(use.codec->bound({step.count})) +
                       (ranks.count - 1) * most(use.codec->bound({1})));
  };
  Sizes sizes;
  SyncStep last;
  for (const SyncStep& step : rehearse(sync, ranks, elements(use, slice))) {
    if (step.act == SyncStep::Act::done) continue;
    if (step.act != SyncStep::Act::send) {
      if (step.peer != ranks.rank) sizes.received += bytes(step);
      if (last.made) last = {};
      continue;
    }
    const bool again = last.act == SyncStep::Act::send && last.made == step.made && last.first == step.first &&
                       last.count == step.count;
    if (!again) sizes.sent += bytes(step);
    last = step;
  }
  return sizes;
}

PartCoder::PartCoder(Setup setup)
    : setup_(std::move(setup)), whole_(takes_whole(setup_.use, *setup_.slice)), arrived_(setup_.received) {}

Result<std::unique_ptr<PartCoder>> PartCoder::make(Setup setup) {
  std::unique_ptr<PartCoder> coder(new PartCoder(std::move(setup)));
  const CodecUse& use = coder->setup_.use;
  const Slice& slice = *coder->setup_.slice;
  const auto& plain = use.coding->of(slice.id)->plain;
  if (!plain) return coder;
  Store& store = *use.store;
  const TensorDesc& lying = store.params()[slice.param]->master;
  DLHOST_ASSIGN(coder->to_plain_, Conversion::make(store.device(), store.stream(), lying, *plain));
  DLHOST_ASSIGN(coder->from_plain_, Conversion::make(store.device(), store.stream(), *plain, lying));
  coder->plain_.resize(static_cast<std::size_t>(plain->count()));
  coder->lying_.resize(static_cast<std::size_t>(slice.count));
  return coder;
}

void PartCoder::begin(std::span<std::byte> room, std::uint64_t step) {
  step_ = step;
  random_ = draws_of(setup_.use, setup_.seed, setup_.slice->id, step, setup_.contributor);
  room_ = room;
  sent_ = received_ = 0;
  begun_.clear();
  made_.clear();
  last_ = {};
}

Shape PartCoder::shape_of(std::int64_t count) const {
  return whole_ ? setup_.use.coding->of(setup_.slice->id)->shape : Shape{count};
}

void PartCoder::insert(std::vector<EncodedPiece>& known, const EncodedPiece& piece) {
  known.insert(std::ranges::lower_bound(known, piece.first, {}, &EncodedPiece::first), piece);
}

Status PartCoder::is_full() const {
  return Status::internal("codec '", setup_.use.actor->plugin, "' needs more than ", room_.size(),
                          " bytes for the parts of slice ", setup_.slice->id,
                          ": two parts encoded one by one may take more bytes than both in one, but at most by the "
                          "codec's bound for one element");
}

Status PartCoder::lay_out(const std::vector<EncodedPiece>& known, std::int64_t first, std::int64_t end) {
  pieces_.clear();
  std::int64_t at = first;
  for (const EncodedPiece& piece : known) {
    if (piece.end() <= at || piece.first >= end) continue;
    if (piece.first < at || piece.end() > end)
      return Status::internal("the sync sends elements ", first, " to ", end, " of slice ", setup_.slice->id,
                              ", but has sent or received ", piece.first, " to ", piece.end(), " in one piece");
    if (piece.first > at) pieces_.push_back({at, piece.first - at, {}});
    pieces_.push_back(piece);
    at = piece.end();
  }
  if (at < end) pieces_.push_back({at, end - at, {}});
  return {};
}

Result<std::span<const std::byte>> PartCoder::send(bool made, std::int64_t first, std::int64_t count,
                                                   std::span<float> row) {
  if (!last_.message.empty() && last_.made == made && last_.first == first && last_.count == count)
    return last_.message;
  auto& known = made ? made_ : begun_;
  DLHOST_TRY(lay_out(known, first, first + count));
  std::size_t end = sent_ + before_pieces(pieces_.size());
  if (end > room_.size()) return is_full();
  for (EncodedPiece& piece : pieces_) {
    const auto room = room_.subspan(end);
    if (!piece.encoding.empty()) {
      if (piece.encoding.size() > room.size()) return is_full();
      std::copy(piece.encoding.begin(), piece.encoding.end(), room.begin());
    } else {
      DLHOST_ASSIGN(piece.encoding, encode(piece.first, piece.count, row, room));
      if (made) DLHOST_TRY(decode(piece, SyncStep::Act::replace, row));
      insert(known, piece);
    }
    end = std::min(room_.size(), end + piece_lines(piece.encoding.size()));
  }
  const auto message = room_.subspan(sent_, end - sent_);
  write_heads(message, pieces_);
  sent_ = end;
  last_ = {made, first, count, message};
  return last_.message;
}

Result<std::span<std::byte>> PartCoder::encode(std::int64_t first, std::int64_t count, std::span<const float> row,
                                               std::span<std::byte> room) {
  const CodecUse& use = setup_.use;
  const Coding::Form& form = *use.coding->of(setup_.slice->id);
  const Shape shape = shape_of(count);
  if (room.size() < Encoding::most_bytes(use.codec->bound(shape), use.coding->traits().rounds)) return is_full();
  auto values = row.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  if (to_plain_) {
    DLHOST_TRY(to_plain_->run(values.data(), plain_.data()));
    values = plain_;
  }
  const auto floats = [&](std::size_t place, std::size_t elements) {
    return std::span(reinterpret_cast<float*>(setup_.memory.data() + place), elements);
  };
  const std::size_t error = form.error + static_cast<std::size_t>(first) * sizeof(float);
  const Codec::State state{.error =
                               use.coding->traits().error_feedback ? floats(error, values.size()) : std::span<float>(),
                           .learned = floats(form.learned, form.learns)};
  DLHOST_ASSIGN(const std::size_t bytes, encode_alone(use, shape, values, state, room, *random_, step_));
  return room.first(bytes);
}

Status PartCoder::decode(const EncodedPiece& piece, SyncStep::Act act, std::span<float> row) {
  const CodecUse& use = setup_.use;
  const Shape shape = shape_of(piece.count);
  const auto values = row.subspan(static_cast<std::size_t>(piece.first), static_cast<std::size_t>(piece.count));
  DLHOST_ASSIGN(const Encoding encoding, Encoding::read(piece.encoding, use.codec->bound(shape)));
  const std::span<float> into = from_plain_ ? std::span(plain_) : values;
  if (from_plain_ || act == SyncStep::Act::replace) std::ranges::fill(into, 0.0F);
  use.activity->enter(use.actor, "decode", step_);
  Status status = use.codec->decode_add(encoding.before, shape, encoding.last, 1, into);
  use.activity->leave();
  DLHOST_TRY(std::move(status));
  if (!from_plain_) return {};
  DLHOST_TRY(from_plain_->run(plain_.data(), lying_.data()));
  if (act == SyncStep::Act::replace) std::ranges::fill(values, 0.0F);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += lying_[i];
  return {};
}

void PartCoder::forget(std::int64_t first, std::int64_t end) {
  std::erase_if(made_, [&](const EncodedPiece& piece) { return piece.first < end && first < piece.end(); });
  if (last_.made) last_.message = {};
}

Result<bool> PartCoder::take_own(const SyncStep& step, std::span<float> made) {
  forget(step.first, step.first + step.count);
  const auto sent = std::ranges::find_if(begun_, [&](const EncodedPiece& piece) {
    return piece.first < step.first + step.count && step.first < piece.end();
  });
  if (sent == begun_.end()) return false;
  if (sent->first != step.first || sent->count != step.count)
    return Status::internal("the sync takes elements ", step.first, " to ", step.first + step.count, " of slice ",
                            setup_.slice->id, " as its own, but has sent ", sent->first, " to ", sent->end());
  DLHOST_TRY(decode(*sent, step.act, made));
  return true;
}

// Copies the message first, so that the neighbour cannot change it while it is checked and decoded.
Status PartCoder::take(std::span<const std::byte> memory, const SyncStep& step, std::span<float> made) {
  DLHOST_ASSIGN(const auto message, message_at(memory));
  if (message.size() > arrived_.size() - received_)
    return Status::corrupt("server group ", step.peer, " sends ", message.size(), " bytes of slice ", setup_.slice->id,
                           ", more than the codec's bound for it");
  const auto own = std::span(arrived_).subspan(received_, message.size());
  std::copy(message.begin(), message.end(), own.begin());
  received_ = std::min(arrived_.size(), received_ + piece_lines(message.size()));
  DLHOST_TRY(read_pieces(own, step.first, step.count, pieces_));
  if (whole_ && pieces_.size() > 1)
    return Status::corrupt("server group ", step.peer, " sends slice ", setup_.slice->id,
                           " in pieces, but the codec needs it whole");
  forget(step.first, step.first + step.count);
  for (const EncodedPiece& piece : pieces_) {
    DLHOST_TRY(decode(piece, step.act, made));
    if (step.act == SyncStep::Act::replace) insert(made_, piece);
  }
  return {};
}

} // namespace dlhost::param
