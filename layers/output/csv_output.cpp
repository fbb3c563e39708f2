#include <cstring>

#include <dlhost/plugin.h>

#include "rows.h"

namespace dlhost::plugins {

namespace {

template <class T> void append_numbers(std::string& text, std::span<const std::byte> sample) {
  for (std::size_t at = 0; at < sample.size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, sample.data() + at, sizeof number);
    if (!text.empty() && text.back() != '\n') text += ',';
    if constexpr (sizeof(T) == 1)
      text += concat(static_cast<int>(number));
    else
      text += concat(number);
  }
}

} // namespace

class CsvOutput final : public RowSink {
 public:
  static constexpr std::string_view name = "csv_output";
  using Options = RowsOptions;
  static Schema schema() {
    return writing(SchemaOf<Options>("Writes a line of numbers for each sample: all elements of all its sources."));
  }
  explicit CsvOutput(Options options) : options_(std::move(options)) {}

 protected:
  const RowsOptions& options() const override { return options_; }
  std::size_t most_inputs() const override { return 64; }
  Status can_write(const TensorDesc&) const override { return {}; }
  std::string header(const std::vector<TensorDesc>&, std::int64_t) const override { return {}; }

  void append(std::string& text, DType dtype, std::span<const std::byte> sample) const override {
    switch (dtype) {
    case DType::i32: return append_numbers<std::int32_t>(text, sample);
    case DType::i64: return append_numbers<std::int64_t>(text, sample);
    case DType::i8: return append_numbers<std::int8_t>(text, sample);
    case DType::u8: return append_numbers<std::uint8_t>(text, sample);
    default: return append_numbers<float>(text, sample);
    }
  }
  void end_row(std::string& text) const override { text += '\n'; }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::CsvOutput);
