#include "formats.h"

#include <charconv>

#include <oneapi/dnnl/dnnl_debug.h>

namespace dlhost::plugins::cpu {
namespace {

using memory = dnnl::memory;
using tag = memory::format_tag;

constexpr std::uint32_t tag_bits = 12;
static_assert(dnnl_format_tag_last < (1 << tag_bits));

tag plain_tag(std::size_t rank) {
  constexpr tag tags[] = {tag::a, tag::a, tag::ab, tag::abc, tag::abcd, tag::abcde, tag::abcdef, tag::abcdefg};
  return tags[rank];
}

tag tag_of(Format format, std::size_t rank) {
  if (format.is_any()) return tag::any;
  if (format.is_plain()) return plain_tag(rank);
  return static_cast<tag>(format.id & ((1U << tag_bits) - 1));
}

memory::dims dims_of(const Shape& shape, std::int64_t groups) {
  memory::dims dims(shape.begin(), shape.end());
  if (dims.empty()) dims.push_back(1);
  if (groups > 1) {
    dims[0] /= groups;
    dims.insert(dims.begin(), groups);
  }
  return dims;
}

const char* tag_name(tag which) { return dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(which)); }

// Stands in the place of the groups: the tag is that of a matrix [first axis, all others].
constexpr std::uint32_t flat_mark = (1U << (32 - tag_bits)) - 1;

Format with_groups(tag which, std::int64_t groups) {
  auto id = static_cast<std::uint32_t>(which);
  if (groups > 1) id |= static_cast<std::uint32_t>(groups) << tag_bits;
  return {id};
}

} // namespace

bool has_dtype(DType type) {
  return type == DType::f32 || type == DType::bf16 || type == DType::f16 || type == DType::i32 || type == DType::i8 ||
         type == DType::u8;
}

memory::data_type dtype_of(DType type) {
  switch (type) {
  case DType::bf16: return memory::data_type::bf16;
  case DType::f16: return memory::data_type::f16;
  case DType::i32: return memory::data_type::s32;
  case DType::i8: return memory::data_type::s8;
  case DType::u8: return memory::data_type::u8;
  default: return memory::data_type::f32; // only the layout is wanted
  }
}

bool is_flat(Format format) { return !format.is_any() && format.id >> tag_bits == flat_mark; }

Format flattened(Format format) {
  if (format.is_any() || format.is_plain()) return format;
  return {format.id | flat_mark << tag_bits};
}

TensorDesc as_matrix(const TensorDesc& desc) {
  TensorDesc matrix = desc;
  matrix.shape = Shape{desc.shape[0], desc.shape.past(1)};
  if (is_flat(desc.format)) matrix.format.id &= (1U << tag_bits) - 1;
  return matrix;
}

std::int64_t groups_of(Format format) {
  if (format.is_any() || format.id >> tag_bits == 0 || is_flat(format)) return 1;
  return format.id >> tag_bits;
}

memory::desc describe(const TensorDesc& desc) { return describe_grouped(desc, groups_of(desc.format)); }

memory::desc describe_grouped(const TensorDesc& desc, std::int64_t groups) {
  if (is_flat(desc.format)) return describe(as_matrix(desc));
  const auto dims = dims_of(desc.shape, groups);
  return {dims, dtype_of(desc.dtype), tag_of(desc.format, dims.size())};
}

std::optional<Format> format_of(const memory::desc& desc, std::int64_t groups) {
  const auto dims = desc.get_dims();
  const auto type = desc.get_data_type();
  const auto equals = [&](tag which) {
    const memory::desc candidate(dims, type, which, true);
    return candidate.get(true) != nullptr && candidate == desc;
  };
  if (equals(plain_tag(dims.size()))) return Format::plain();
  for (int number = dnnl_format_tag_any + 1; number < dnnl_format_tag_last; ++number)
    if (const auto which = static_cast<tag>(number); equals(which)) return with_groups(which, groups);
  return std::nullopt;
}

std::size_t bytes_of(const TensorDesc& desc) {
  return static_cast<std::size_t>(elements_of(desc)) * size_of(desc.dtype);
}

std::int64_t elements_of(const TensorDesc& desc) {
  if (desc.format.is_plain()) return desc.count();
  return static_cast<std::int64_t>(describe(desc.as(DType::f32)).get_size() / sizeof(float));
}

bool is_padded(const TensorDesc& desc) { return elements_of(desc) != desc.count(); }

std::int64_t rows_together(const TensorDesc& desc) {
  if (desc.shape.rank() == 0 || groups_of(desc.format) > 1) return 0;
  const auto layout = describe(desc.as(DType::f32));
  const auto blocks = layout.get_inner_blks(), axes = layout.get_inner_idxs();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (axes[i] == 0) rows *= blocks[i];
  const bool outermost = layout.get_strides()[0] * (layout.get_padded_dims()[0] / rows) == elements_of(desc);
  return outermost ? rows : 0;
}

std::string name_of_format(const TensorDesc& desc) {
  if (desc.format.is_plain()) return "plain";
  if (desc.format.is_any()) return "any";
  const std::string name = tag_name(tag_of(desc.format, desc.shape.rank()));
  const auto groups = groups_of(desc.format);
  if (is_flat(desc.format)) return "flat:" + name;
  return groups > 1 ? concat("g", groups, ":", name) : name;
}

Result<Format> find_format(const TensorDesc& plain, const std::string& name) {
  if (name == "plain") return Format::plain();
  if (name.starts_with("flat:") && plain.shape.rank() > 1) {
    DLHOST_ASSIGN(const auto format, find_format(as_matrix(plain), name.substr(5)));
    return flattened(format);
  }
  std::int64_t groups = 1;
  std::string word = name;
  if (const auto colon = name.find(':'); name.starts_with('g') && colon != std::string::npos) {
    std::from_chars(name.data() + 1, name.data() + colon, groups);
    word = name.substr(colon + 1);
    if (groups < 1 || plain.shape.rank() == 0 || plain.shape[0] % groups != 0)
      return Status::invalid("format '", name, "': ", to_string(plain.shape), " cannot be cut into these groups");
  }
  const auto dims = dims_of(plain.shape, groups);
  for (int number = dnnl_format_tag_any + 1; number < dnnl_format_tag_last; ++number) {
    const auto which = static_cast<tag>(number);
    if (word != tag_name(which)) continue;
    if (memory::desc(dims, memory::data_type::f32, which, true).get(true) == nullptr)
      return Status::invalid("format '", name, "' is not for a tensor of ", to_string(plain.shape));
    return which == plain_tag(dims.size()) ? Format::plain() : with_groups(which, groups);
  }
  return Status::not_found("format '", name,
                           "': this oneDNN has no format of this name; formats have the names of its tags");
}

std::optional<Pairing> pairing(const TensorDesc& rows, const TensorDesc& pairs) {
  if (rows.shape != pairs.shape) return std::nullopt;
  const auto one = describe(rows.as(DType::f32)), other = describe(pairs.as(DType::f32));
  auto blocks = one.get_inner_blks();
  auto axes = one.get_inner_idxs();
  if (blocks.size() < 2 || blocks[blocks.size() - 2] % 2 != 0) return std::nullopt;
  const auto row_axis = axes[axes.size() - 2], width = blocks.back();
  blocks.push_back(2);
  axes.push_back(row_axis);
  if (axes != other.get_inner_idxs()) return std::nullopt;
  if (blocks == other.get_inner_blks()) { // two blocks of rows make one of pairs: they must be neighbours
    const auto outermost = axes[1];
    const auto strides = one.get_strides(), wide = other.get_strides();
    const auto block = blocks[0] * width;
    if (strides.size() != 2 || axes.size() != 3 || strides[row_axis] != block || wide[row_axis] != 2 * block ||
        one.get_padded_dims()[outermost] != other.get_padded_dims()[outermost])
      return std::nullopt;
    return Pairing{width, strides[outermost], wide[outermost]};
  }
  blocks[blocks.size() - 3] /= 2;
  if (blocks != other.get_inner_blks() || one.get_padded_dims() != other.get_padded_dims() ||
      one.get_strides() != other.get_strides())
    return std::nullopt;
  return Pairing{width, elements_of(rows), elements_of(pairs)};
}

Placement::Placement(const TensorDesc& desc) {
  const auto layout = describe(desc.as(DType::f32));
  const auto dims = layout.get_dims(), padded = layout.get_padded_dims(), strides = layout.get_strides();
  rank_ = dims.size();
  for (std::size_t axis = 0; axis < rank_; ++axis) strides_[axis] = strides[axis];
  const auto blocks = layout.get_inner_blks(), axes = layout.get_inner_idxs();
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks_.push_back({static_cast<std::size_t>(axes[i]), blocks[i]});
  shape_ = Shape(std::span<const std::int64_t>(dims));
  padded_ = Shape(std::span<const std::int64_t>(padded));
}

std::int64_t Placement::offset(const std::int64_t* index) const {
  std::int64_t left[max_rank + 1];
  for (std::size_t axis = 0; axis < rank_; ++axis) left[axis] = index[axis];
  std::int64_t at = 0, stride = 1;
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    auto& rest = left[blocks_[i].axis];
    at += rest % blocks_[i].size * stride;
    rest /= blocks_[i].size;
    stride *= blocks_[i].size;
  }
  for (std::size_t axis = 0; axis < rank_; ++axis) at += left[axis] * strides_[axis];
  return at;
}

std::vector<std::int32_t> Placement::elements_of_a_sample() const {
  const auto row = shape_.past(1), room = padded_.past(1);
  if (padded_[0] != shape_[0] || (shape_[0] > 1 && strides_[0] != room)) return {};
  std::vector<std::int32_t> elements(static_cast<std::size_t>(room), -1);
  std::int64_t index[max_rank + 1] = {};
  for (std::int64_t element = 0; element < row; ++element) {
    elements[static_cast<std::size_t>(offset(index))] = static_cast<std::int32_t>(element);
    for (std::size_t axis = rank_; axis-- > 1;) {
      if (++index[axis] < shape_[axis]) break;
      index[axis] = 0;
    }
  }
  return elements;
}

std::vector<std::int64_t> Placement::padding() const {
  std::vector<std::int64_t> offsets;
  std::int64_t index[max_rank + 1] = {};
  const auto count = padded_.count();
  for (std::int64_t number = 0; number < count; ++number) {
    bool inside = true;
    for (std::size_t axis = 0; axis < rank_; ++axis) inside = inside && index[axis] < shape_[axis];
    if (!inside) offsets.push_back(offset(index));
    for (std::size_t axis = rank_; axis-- > 0;) {
      if (++index[axis] < padded_[axis]) break;
      index[axis] = 0;
    }
  }
  return offsets;
}

} // namespace dlhost::plugins::cpu
