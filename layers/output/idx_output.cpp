#include <dlhost/plugin.h>

#include "rows.h"

namespace dlhost::plugins {

// The format of the MNIST files: a magic number with type and rank, the axes, the elements; all big-endian.
class IdxOutput final : public RowSink {
 public:
  static constexpr std::string_view name = "idx_output";
  using Options = RowsOptions;
  static Schema schema() {
    return writing(SchemaOf<Options>("Writes its source's samples as an idx file, the format of MNIST."));
  }
  explicit IdxOutput(Options options) : options_(std::move(options)) {}

 protected:
  const RowsOptions& options() const override { return options_; }
  Status can_write(const TensorDesc& desc) const override {
    if (type_of(desc.dtype) != 0) return {};
    return Status::unsupported("idx has no type for ", name_of(desc.dtype), ": use npy_output");
  }

  std::string header(const std::vector<TensorDesc>& inputs, std::int64_t samples) const override {
    const Shape& shape = inputs[0].shape;
    std::string text{0, 0, type_of(inputs[0].dtype), static_cast<char>(shape.rank())};
    append_axis(text, samples);
    for (std::size_t axis = 1; axis < shape.rank(); ++axis) append_axis(text, shape[axis]);
    return text;
  }

  void append(std::string& text, DType dtype, std::span<const std::byte> sample) const override {
    const std::size_t size = size_of(dtype);
    for (std::size_t at = 0; at < sample.size(); at += size)
      for (std::size_t byte = size; byte-- > 0;) text += static_cast<char>(sample[at + byte]);
  }

 private:
  static char type_of(DType dtype) {
    switch (dtype) {
    case DType::u8: return 0x08;
    case DType::i8: return 0x09;
    case DType::i32: return 0x0C;
    case DType::f32: return 0x0D;
    default: return 0;
    }
  }
  static void append_axis(std::string& text, std::int64_t size) {
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(size >> shift & 0xFF);
  }

  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::IdxOutput);
