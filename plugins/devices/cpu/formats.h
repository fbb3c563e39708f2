// The mapping between the cpu device's formats and oneDNN's memory layouts; the device has no other layouts.
//
// A format's id is oneDNN's tag (an order of axes and their blocks, without sizes), so that it fits any shape and
// dtype. The bits above it hold the number of groups for weights of grouped convolutions, or the mark of a matrix. Ids
// are valid in this process only; names ("aBcd16b", "g32:Abcde16a") are permanent. Thread: any, while ops are prepared;
// keeps no state.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost::plugins::cpu {

// False: oneDNN does not compute in this dtype on a CPU.
bool has_dtype(DType);
dnnl::memory::data_type dtype_of(DType);

// The groups of a grouped convolution's weights; 1 for all other formats.
std::int64_t groups_of(Format);
// Whether the tensor lies like the matrix [first axis, all others], in one of a matrix's formats ("flat:AB16b64a").
bool is_flat(Format);
Format flattened(Format of_a_matrix);
TensorDesc as_matrix(const TensorDesc&);
// The tensor's description for oneDNN; `any` stays `any`. Grouped weights get their group axis in front.
dnnl::memory::desc describe(const TensorDesc&);
dnnl::memory::desc describe_grouped(const TensorDesc&, std::int64_t groups);
// The format of a layout chosen by oneDNN; none: it has no tag.
std::optional<Format> format_of(const dnnl::memory::desc&, std::int64_t groups = 1);

std::size_t bytes_of(const TensorDesc&);
// Elements in memory, including padding.
std::int64_t elements_of(const TensorDesc&);
bool is_padded(const TensorDesc&);
// See Device::rows_together.
std::int64_t rows_together(const TensorDesc&);
std::string name_of_format(const TensorDesc&);
Result<Format> find_format(const TensorDesc& plain, const std::string& name);

// 16-bit weights may have every two rows interleaved, unlike their gradients: AB8b64a2b beside AB16b64a. If the blocks
// of pairs are larger (AB16b64a2b), pieces have additional rows of zeros at their ends.
struct Pairing {
  std::int64_t width;                   // of a row
  std::int64_t rows_piece, pairs_piece; // elements of each outermost block
};
// How `pairs` corresponds to `rows`; none: it does not.
std::optional<Pairing> pairing(const TensorDesc& rows, const TensorDesc& pairs);

// The position of each logical element: strides over the outer blocks, then the inner blocks. For kernels that process
// single elements in any format.
class Placement {
 public:
  explicit Placement(const TensorDesc&);
  // The offset, in elements, of an index (one number for each axis).
  std::int64_t offset(const std::int64_t* index) const;
  // For each offset inside a sample the element at it (in the order of the axes); -1: none. Empty: samples are not
  // contiguous.
  std::vector<std::int32_t> elements_of_a_sample() const;
  // The offsets of padding elements.
  std::vector<std::int64_t> padding() const;

 private:
  std::size_t rank_ = 0;
  Shape shape_, padded_;
  std::int64_t strides_[max_rank + 1] = {};
  struct Block {
    std::size_t axis;
    std::int64_t size;
  };
  std::vector<Block> blocks_; // outermost first
};

} // namespace dlhost::plugins::cpu
