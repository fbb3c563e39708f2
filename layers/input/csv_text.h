// Parses delimited text into numbers. Pure: text in, table out, so that the csv source and its fuzz target share it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::input {

enum class CsvLabel : std::uint8_t { klass, value, none };

struct CsvFormat {
  char delimiter = ',';
  bool header = false; // the first row names the columns
  CsvLabel label = CsvLabel::klass;
  std::int64_t column = -1;             // of the label; negative ones count from the last
  std::span<const std::string> classes; // names for the labels 0, 1, ...; empty: labels are numbers
};

// Row-major, without the label's column.
struct CsvTable {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values;
  std::vector<std::int32_t> classes; // with CsvLabel::klass
  std::vector<float> targets;        // with CsvLabel::value
  std::int64_t count() const { return rows; }
};

// Errors name row and column, both from 1, as editors count lines.
Result<CsvTable> parse_csv(std::string_view text, const CsvFormat& format);

} // namespace dlhost::input
