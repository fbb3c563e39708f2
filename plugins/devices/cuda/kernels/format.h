// The two layouts of tensors here: plain; or channels last, as tensor cores want pictures: axis 1 of [n, c, ...] is
// innermost in memory. Such a tensor is a plain one with its axes in another order.
#pragma once

#include <string>
#include <string_view>

#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost::plugins::cuda {

inline constexpr Format channels_last{1};

// "plain", or the axes as letters in memory order: "acdb" is [n, h, w, c].
std::string name_of_format(const TensorDesc&);
Result<Format> format_of_name(const TensorDesc& plain, std::string_view name);

// The axes' lengths in memory order, and the new index of an axis.
Shape lying(const TensorDesc&);
std::size_t lying_axis(const TensorDesc&, std::size_t axis);

// Errors: a tensor is neither plain nor open.
Status need_plain(std::string_view op, std::initializer_list<const TensorDesc*>);
// For an op that works in both formats: x and y have the same. An open format becomes the other's, or plain.
Status settle(std::string_view op, TensorDesc& x, TensorDesc& y);
// Sets an open format.
inline TensorDesc lies(const TensorDesc& desc, Format format) { return desc.format.is_any() ? desc.as(format) : desc; }
inline TensorDesc plain_of(const TensorDesc& desc) { return lies(desc, Format::plain()); }

} // namespace dlhost::plugins::cuda
