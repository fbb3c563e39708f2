#include <dlhost/plugin.h>

#include "rows.h"

namespace dlhost::plugins {

// Version 1.0 of the format: magic, the header's length, and the header as a Python literal, padded to 64 bytes.
class NpyOutput final : public RowSink {
 public:
  static constexpr std::string_view name = "npy_output";
  using Options = RowsOptions;
  static Schema schema() {
    return writing(SchemaOf<Options>("Writes its source's samples as one NumPy array [samples, ...]."));
  }
  explicit NpyOutput(Options options) : options_(std::move(options)) {}

 protected:
  const RowsOptions& options() const override { return options_; }
  Status can_write(const TensorDesc&) const override { return {}; }

  std::string header(const std::vector<TensorDesc>& inputs, std::int64_t samples) const override {
    std::string shape = concat(samples, ",");
    for (std::size_t axis = 1; axis < inputs[0].shape.rank(); ++axis) shape += concat(" ", inputs[0].shape[axis], ",");
    std::string text =
        concat("{'descr': '", type_of(inputs[0].dtype), "', 'fortran_order': False, 'shape': (", shape, "), }");
    constexpr std::size_t before = 10, unit = 64; // what stands in front of the text; the whole is padded to
    text.append((unit - (before + text.size() + 1) % unit) % unit, ' ');
    text += '\n';
    std::string whole("\x93NUMPY\x01\x00", 8);
    whole += static_cast<char>(text.size() & 0xFF);
    whole += static_cast<char>(text.size() >> 8);
    return whole + text;
  }

  void append(std::string& text, DType, std::span<const std::byte> sample) const override {
    text.append(reinterpret_cast<const char*>(sample.data()), sample.size());
  }

 private:
  static std::string_view type_of(DType dtype) {
    switch (dtype) {
    case DType::i64: return "<i8";
    case DType::i32: return "<i4";
    case DType::i8: return "|i1";
    case DType::u8: return "|u1";
    default: return "<f4";
    }
  }

  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::NpyOutput);
