// The two ways in which tensors lie here. Plain; or with the channels last, which is how tensor cores want pictures:
// axis 1 of [n, c, ...] is the innermost in memory. Such a tensor is a plain one whose axes are in another order.
#pragma once

#include <string>
#include <string_view>

#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost::plugins::cuda {

inline constexpr Format channels_last{1};

// "plain", or the axes by their letters in memory's order: "acdb" is [n, h, w, c].
std::string name_of_format(const TensorDesc&);
Result<Format> format_of_name(const TensorDesc& plain, std::string_view name);

// The axes' lengths in memory's order, and where an axis has gone.
Shape lying(const TensorDesc&);
std::size_t lying_axis(const TensorDesc&, std::size_t axis);

// An error unless each tensor is plain, or may become so.
Status need_plain(std::string_view op, std::initializer_list<const TensorDesc*>);
// Of an op that works in either format: x and y lie alike. What is open becomes as the other is, or plain.
Status settle(std::string_view op, TensorDesc& x, TensorDesc& y);
// What is open becomes this.
inline TensorDesc lies(const TensorDesc& desc, Format format) { return desc.format.is_any() ? desc.as(format) : desc; }
inline TensorDesc plain_of(const TensorDesc& desc) { return lies(desc, Format::plain()); }

} // namespace dlhost::plugins::cuda
