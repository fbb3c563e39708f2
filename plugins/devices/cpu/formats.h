// How the cpu device's formats stand for oneDNN's memory layouts, which are the only ones that it knows.
//
// A format's id is oneDNN's tag (an order of axes and their blocks, without sizes), so that it holds for any shape and
// dtype, and above it, for weights of grouped convolutions, the number of groups, or the mark of a matrix. Ids are
// words of this process; names
// ("aBcd16b", "g32:Abcde16a") hold for ever. Called while ops are prepared, from any task; keeps no state.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost::plugins::cpu {

// False for the dtypes that oneDNN does not compute in on a CPU.
bool has_dtype(DType);
dnnl::memory::data_type dtype_of(DType);

// The groups of a grouped convolution's weights; 1 for all other formats.
std::int64_t groups_of(Format);
// A tensor may also lie as the matrix [first axis, all others] does, in one of a matrix's formats ("flat:AB16b64a").
bool is_flat(Format);
Format flattened(Format of_a_matrix);
TensorDesc as_matrix(const TensorDesc&);
// The tensor for oneDNN; `any` stays `any`. Grouped weights get their group axis in front.
dnnl::memory::desc describe(const TensorDesc&);
dnnl::memory::desc describe_grouped(const TensorDesc&, std::int64_t groups);
// The format of a layout that oneDNN chose; none if it has no tag.
std::optional<Format> format_of(const dnnl::memory::desc&, std::int64_t groups = 1);

std::size_t bytes_of(const TensorDesc&);
// Elements as they lie, padding included.
std::int64_t elements_of(const TensorDesc&);
bool is_padded(const TensorDesc&);
// As Device::rows_together says.
std::int64_t rows_together(const TensorDesc&);
std::string name_of_format(const TensorDesc&);
Result<Format> find_format(const TensorDesc& plain, const std::string& name);

// Weights of 16 bits may lie with each two rows interleaved, as their gradients never do: AB8b64a2b beside AB16b64a.
// Where the blocks of the pairs are larger (AB16b64a2b), they come in pieces that have more rows at their ends, of
// zeros.
struct Pairing {
  std::int64_t width;                   // of a row
  std::int64_t rows_piece, pairs_piece; // elements of each outermost block
};
// How `pairs` lies beside `rows`, if it does so.
std::optional<Pairing> pairing(const TensorDesc& rows, const TensorDesc& pairs);

// Where each logical element lies: strides over the outer blocks, then the inner blocks. For kernels that must treat
// elements one by one whatever the format is.
class Placement {
 public:
  explicit Placement(const TensorDesc&);
  // The offset, in elements, of an index (one number for each axis).
  std::int64_t offset(const std::int64_t* index) const;
  // For each offset inside a sample, which of its elements lies there (in the order of the axes); -1: none. Empty where
  // samples do not lie one after another.
  std::vector<std::int32_t> elements_of_a_sample() const;
  // The offsets of the elements that no index reaches.
  std::vector<std::int64_t> padding() const;

 private:
  std::size_t rank_ = 0;
  Shape shape_, padded_;
  std::int64_t strides_[max_rank + 1] = {};
  struct Block {
    std::size_t axis;
    std::int64_t size;
  };
  std::vector<Block> blocks_; // from the outermost
};

} // namespace dlhost::plugins::cpu
