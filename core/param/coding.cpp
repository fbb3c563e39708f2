#include "param/coding.h"

#include <algorithm>
#include <cstring>

#include "param/table_memory.h"

namespace dlhost::param {

Coding::Coding(const Store& store, const Slices& slices, const Codec& codec, std::int64_t least, std::size_t begin)
    : traits_(codec.traits()), forms_(slices.size()), sent_end_(begin) {
  const auto is_coded = [&](const Slice& slice) {
    return store.params()[slice.param]->master.count() >= std::max<std::int64_t>(least, 1);
  };
  for (const Slice& slice : slices.all())
    if (is_coded(slice)) {
      Form& form = forms_[slice.id].emplace(form_of(*store.params()[slice.param], slice, codec));
      form.sent = take_lines(sent_end_, Encoding::most_bytes(form.bound, traits_.rounds));
    }
  end_ = sent_end_;
  for (const auto& param : store.params()) {
    const auto pieces = slices.of(param->number);
    if (pieces.empty() || !forms_[pieces.front().id]) continue;
    const Form& first = *forms_[pieces.front().id];
    if (traits_.error_feedback) {
      const TensorDesc desc = first.plain.value_or(param->master);
      kept_.push_back({param->declared.name + "/codec.error", desc, end_});
      for (const Slice& piece : pieces)
        forms_[piece.id]->error = end_ + static_cast<std::size_t>(piece.first) * sizeof(float);
      take_lines(end_, first.plain ? desc.plain_bytes() : store.device().bytes(desc));
    }
    std::size_t learned = 0;
    for (const Slice& piece : pieces) {
      forms_[piece.id]->learned = end_ + learned * sizeof(float);
      learned += forms_[piece.id]->learns;
    }
    if (learned == 0) continue;
    const TensorDesc desc{DType::f32, {static_cast<std::int64_t>(learned)}, Format::plain()};
    kept_.push_back({param->declared.name + "/codec.learned", desc, end_});
    take_lines(end_, desc.plain_bytes());
  }
}

Coding::Form Coding::form_of(const Param& param, const Slice& slice, const Codec& codec) const {
  Form form;
  const bool lies_plain = param.master.format.is_plain();
  if (lies_plain && slice.count == param.master.count()) {
    form.shape = param.master.shape;
  } else if (traits_.whole_matrix) {
    form.shape = param.master.shape;
    form.plain = TensorDesc{DType::f32, param.master.shape, Format::plain()};
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

std::vector<TensorPlace> Coding::kept(std::span<std::byte> memory) const {
  std::vector<TensorPlace> places;
  for (const Kept& kept : kept_)
    places.push_back({.name = kept.name, .desc = kept.desc, .data = memory.data() + kept.place, .needed = false});
  return places;
}

Result<Encoding> Encoding::read(std::span<const std::byte> memory, const Coding::Form& form) {
  Lengths lengths;
  if (memory.size() < sizeof lengths) return Status::corrupt("an encoding of ", memory.size(), " bytes");
  std::memcpy(&lengths, memory.data(), sizeof lengths);
  const auto bytes = memory.subspan(sizeof lengths);
  if (lengths.before > form.bound || lengths.last > form.bound || lengths.before + lengths.last > bytes.size())
    return Status::corrupt("an encoding of ", lengths.before, " and ", lengths.last, " bytes, where each has ",
                           form.bound, " at most and ", bytes.size(), " are there");
  return Encoding{.before = bytes.first(lengths.before), .last = bytes.subspan(lengths.before, lengths.last)};
}

} // namespace dlhost::param
