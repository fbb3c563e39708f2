#include "param/codec/coding.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "param/table/table_memory.h"

namespace dlhost::param {

Coding::Coding(const Store& store, const Slices& slices, const Codec& codec, std::int64_t least, std::size_t begin,
               Kind kind)
    : traits_(codec.traits()), forms_(slices.size()), sent_end_(begin) {
  const auto is_coded = [&](const Slice& slice) {
    return store.params()[slice.param]->master.count() >= std::max<std::int64_t>(least, 1);
  };
  for (const Slice& slice : slices.all())
    if (is_coded(slice)) {
      Form& form = forms_[slice.id].emplace(form_of(*store.params()[slice.param], slice, codec));
      if (kind.sent) form.sent = take_lines(sent_end_, Encoding::most_bytes(form.bound, traits_.rounds));
    }
  end_ = sent_end_;
  for (const auto& param : store.params()) {
    const auto pieces = slices.of(param->number);
    if (pieces.empty() || !forms_[pieces.front().id]) continue;
    const Form& first = *forms_[pieces.front().id];
    if (traits_.error_feedback) {
      const TensorDesc desc = first.plain.value_or(param->master);
      Kept& kept = kept_.emplace_back(Kept{param->declared.name + "/codec.error", desc, end_});
      const std::size_t bytes = first.plain ? desc.plain_bytes() : store.device().bytes(desc);
      for (const Slice& piece : pieces) {
        const std::size_t at = forms_[piece.id]->error = end_ + static_cast<std::size_t>(piece.first) * sizeof(float);
        kept.pieces.push_back(
            {piece.id, at, pieces.size() > 1 ? static_cast<std::size_t>(piece.count) * sizeof(float) : bytes});
      }
      take_lines(end_, bytes);
    }
    std::size_t learned = 0;
    for (const Slice& piece : pieces) {
      forms_[piece.id]->learned = end_ + learned * sizeof(float);
      learned += forms_[piece.id]->learns;
    }
    if (learned == 0) continue;
    const TensorDesc desc{DType::f32, {static_cast<std::int64_t>(learned)}, Format::plain()};
    Kept& kept = kept_.emplace_back(Kept{param->declared.name + "/codec.learned", desc, end_});
    for (const Slice& piece : pieces)
      kept.pieces.push_back({piece.id, forms_[piece.id]->learned, forms_[piece.id]->learns * sizeof(float)});
    take_lines(end_, desc.plain_bytes());
  }
  if (!kind.outlived || kept_.empty()) return;
  copy_bytes_ = end_ - sent_end_;
  end_ += copy_bytes_;
  tags_ = take_lines(end_, 2 * forms_.size() * sizeof(Tag));
}

Coding::Form Coding::form_of(const Param& param, const Slice& slice, const Codec& codec) const {
  Form form;
  const bool lies_plain = param.master.format.is_plain();
  if (lies_plain && slice.count == param.master.count()) {
    form.shape = param.master.shape;
  } else if (traits_.whole_matrix && lies_plain) { // a part of the param
    form.shape = param.master.shape;
    form.shape[0] = slice.count / form.shape.past(1);
  } else if (traits_.whole_matrix) {
    form.shape = param.master.shape;
    form.plain = TensorDesc{DType::f32, form.shape, Format::plain()};
  } else {
    form.shape = {slice.count};
  }
  form.bound = codec.bound(form.shape);
  form.learns = codec.learns(form.shape);
  return form;
}

std::size_t Coding::decoded_bytes() const {
  std::size_t bytes = 0;
  for (const auto& form : forms_)
    if (form)
      bytes += Encoding::most_bytes(form->bound, traits_.rounds) +
               static_cast<std::size_t>(form->shape.count()) * sizeof(float) * (form->plain ? 2 : 1);
  return bytes;
}

std::size_t Coding::kept_bytes() const {
  std::size_t bytes = 0;
  for (const Kept& kept : kept_) bytes += kept.desc.plain_bytes();
  return bytes;
}

Coding::Tag& Coding::tag(std::span<std::byte> memory, SliceId slice, std::size_t copy) const {
  return *std::launder(reinterpret_cast<Tag*>(memory.data() + tags_ + (2 * slice + copy) * sizeof(Tag)));
}

std::size_t Coding::newest(std::span<std::byte> memory, SliceId slice, std::uint64_t before) const {
  if (copy_bytes_ == 0) return 0;
  const std::uint64_t first = tag(memory, slice, 0).load(std::memory_order_acquire),
                      second = tag(memory, slice, 1).load(std::memory_order_acquire);
  const bool has_second = second != half_made && second <= before;
  return has_second && (first == half_made || first > before || first < second) ? 1 : 0;
}

std::vector<TensorPlace> Coding::kept(std::span<std::byte> memory, const Before& before,
                                      std::vector<std::vector<std::byte>>& gathered) const {
  std::vector<TensorPlace> places;
  for (const Kept& kept : kept_) {
    const auto copy = [&](const Piece& piece) {
      return newest(memory, piece.slice, before ? before(piece.slice) : half_made) * copy_bytes_;
    };
    const std::size_t first = copy(kept.pieces.front());
    std::byte* data = memory.data() + kept.place + first;
    if (std::ranges::any_of(kept.pieces, [&](const Piece& piece) { return copy(piece) != first; })) {
      const Piece& last = kept.pieces.back();
      auto& whole = gathered.emplace_back(last.place + last.bytes - kept.place);
      for (const Piece& piece : kept.pieces)
        std::memcpy(whole.data() + (piece.place - kept.place), memory.data() + piece.place + copy(piece), piece.bytes);
      data = whole.data();
    }
    places.push_back({.name = kept.name, .desc = kept.desc, .data = data, .needed = false});
  }
  return places;
}

std::vector<std::span<const std::byte>> Coding::kept_of(std::span<const std::byte> memory, SliceId slice) const {
  std::vector<std::span<const std::byte>> found;
  for (const Kept& kept : kept_)
    for (const Piece& piece : kept.pieces)
      if (piece.slice == slice) found.push_back(memory.subspan(piece.place, piece.bytes));
  return found;
}

Coding::State Coding::begin(std::span<std::byte> memory, SliceId slice) const {
  const Form& form = *forms_[slice];
  if (copy_bytes_ == 0) return {form.error, form.learned};
  const std::size_t from = newest(memory, slice), to = 1 - from;
  tag(memory, slice, to).store(half_made, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst); // the copy is marked half made before it is written
  for (const Kept& kept : kept_)
    for (const Piece& piece : kept.pieces)
      if (piece.slice == slice)
        std::memcpy(memory.data() + piece.place + to * copy_bytes_, memory.data() + piece.place + from * copy_bytes_,
                    piece.bytes);
  return {form.error + to * copy_bytes_, form.learned + to * copy_bytes_};
}

void Coding::end(std::span<std::byte> memory, SliceId slice, std::uint64_t step) const {
  if (copy_bytes_ == 0) return;
  const std::size_t made = tag(memory, slice, 0).load(std::memory_order_relaxed) == half_made ? 0 : 1;
  tag(memory, slice, made).store(step + 1, std::memory_order_release);
}

void Coding::clear(std::span<std::byte> memory, bool kept) const {
  for (const Kept& each : kept_) {
    const std::size_t bytes = each.pieces.back().place + each.pieces.back().bytes - each.place;
    if (!kept) std::memset(memory.data() + each.place, 0, bytes);
  }
  for (SliceId slice = 0; copy_bytes_ > 0 && slice < forms_.size(); ++slice) {
    new (&tag(memory, slice, 0)) Tag(0);
    new (&tag(memory, slice, 1)) Tag(half_made);
  }
}

Result<Encoding> Encoding::read(std::span<const std::byte> memory, std::size_t bound) {
  Lengths lengths;
  if (memory.size() < sizeof lengths) return Status::corrupt("an encoding of ", memory.size(), " bytes");
  std::memcpy(&lengths, memory.data(), sizeof lengths);
  const auto bytes = memory.subspan(sizeof lengths);
  if (lengths.before > bound || lengths.last > bound || lengths.before + lengths.last > bytes.size())
    return Status::corrupt("an encoding of ", lengths.before, " and ", lengths.last, " bytes, but each has ", bound,
                           " at most and the message ", bytes.size());
  return Encoding{.before = bytes.first(lengths.before), .last = bytes.subspan(lengths.before, lengths.last)};
}

} // namespace dlhost::param
