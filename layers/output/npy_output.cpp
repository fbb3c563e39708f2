#include <dlhost/npy.h>
#include <dlhost/plugin.h>

#include "rows.h"

namespace dlhost::plugins {

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
    std::vector<std::int64_t> shape(inputs[0].shape.begin(), inputs[0].shape.end());
    shape[0] = samples;
    return npy_header(inputs[0].dtype, shape);
  }

  void append(std::string& text, DType, std::span<const std::byte> sample) const override {
    text.append(reinterpret_cast<const char*>(sample.data()), sample.size());
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::NpyOutput);
