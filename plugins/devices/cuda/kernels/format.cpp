#include "format.h"

namespace dlhost::plugins::cuda {

namespace {

bool has_channels_last(const Shape& shape) { return shape.rank() >= 3 && shape.rank() <= 5; }

} // namespace

std::string name_of_format(const TensorDesc& desc) {
  if (desc.format.is_any()) return "any";
  if (desc.format.is_plain()) return "plain";
  std::string name = "a";
  for (std::size_t axis = 2; axis < desc.shape.rank(); ++axis) name += static_cast<char>('a' + axis);
  return name + "b";
}

Result<Format> format_of_name(const TensorDesc& plain, std::string_view name) {
  if (name == "plain") return Format::plain();
  const std::string last = name_of_format(plain.as(channels_last));
  if (has_channels_last(plain.shape) && name == last) return channels_last;
  return Status::invalid("cuda has no format '", name, "' for ", to_string(plain.shape), "; it has plain",
                         has_channels_last(plain.shape) ? concat(" and ", last, ", with the channels last") : "");
}

Shape lying(const TensorDesc& desc) {
  if (desc.format != channels_last) return desc.shape;
  Shape shape{desc.shape[0]};
  for (std::size_t axis = 2; axis < desc.shape.rank(); ++axis) shape.push_back(desc.shape[axis]);
  shape.push_back(desc.shape[1]);
  return shape;
}

std::size_t lying_axis(const TensorDesc& desc, std::size_t axis) {
  if (desc.format != channels_last || axis == 0) return axis;
  return axis == 1 ? desc.shape.rank() - 1 : axis - 1;
}

Status need_plain(std::string_view op, std::initializer_list<const TensorDesc*> descs) {
  for (const auto* desc : descs)
    if (!desc->format.is_plain() && !desc->format.is_any())
      return Status::unsupported("cuda: ", op, " takes plain tensors, and ", name_of_format(*desc), " is not");
  return {};
}

Status settle(std::string_view op, TensorDesc& x, TensorDesc& y) {
  if (x.format.is_any()) x.format = y.format.is_any() ? Format::plain() : y.format;
  if (y.format.is_any()) y.format = x.format;
  if (x.format == y.format) return {};
  return Status::unsupported("cuda: ", op, " has x and y in one format, not in ", name_of_format(x), " and ",
                             name_of_format(y));
}

} // namespace dlhost::plugins::cuda
