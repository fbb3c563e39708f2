#include "csv_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace dlhost::input {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view field) {
  while (!field.empty() && is_blank(field.front())) field.remove_prefix(1);
  while (!field.empty() && is_blank(field.back())) field.remove_suffix(1);
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
  return field;
}

std::string_view take(std::string_view& rest, char delimiter) {
  const auto at = rest.find(delimiter);
  const auto field = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return field;
}

// A field's text, short enough for a message and safe for a terminal.
std::string shown(std::string_view field) {
  std::string text(field.substr(0, 24));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return "'" + text + (field.size() > 24 ? "...'" : "'");
}

class CsvParser {
 public:
  CsvParser(std::string_view text, const CsvFormat& format) : rest_(text), format_(format) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf"; // spreadsheets put it in front
    if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
  }

  Result<CsvTable> run() {
    while (!rest_.empty()) {
      ++row_;
      const auto line = take(rest_, '\n');
      if (trimmed(line).empty()) continue;
      if (width_ == 0) DLHOST_TRY(start(line));
      if (format_.header && !header_seen_) {
        header_seen_ = true;
        continue;
      }
      DLHOST_TRY(parse_row(line));
    }
    if (table_.rows == 0) return Status::invalid("has no rows of data");
    return std::move(table_);
  }

 private:
  // The first row sets the number of columns.
  Status start(std::string_view line) {
    width_ = std::count(line.begin(), line.end(), format_.delimiter) + 1;
    table_.columns = width_;
    if (format_.label == CsvLabel::none) return {};
    label_ = format_.column < 0 ? format_.column + width_ : format_.column;
    if (label_ < 0 || label_ >= width_)
      return Status::invalid("row ", row_, " has ", width_, " column(s), so label_column = ", format_.column,
                             " does not exist; check label_column and delimiter");
    if (--table_.columns == 0)
      return Status::invalid("row ", row_, " has one column only, the label; check the delimiter");
    return {};
  }

  Status parse_row(std::string_view line) {
    std::string_view left = line;
    for (std::int64_t column = 0; column < width_; ++column) {
      if (column > 0 && left.data() == line.data() + line.size() && line.back() != format_.delimiter)
        return Status::corrupt("row ", row_, " has ", column, " columns, but the first row has ", width_);
      const auto field = trimmed(take(left, format_.delimiter));
      if (column == label_) {
        DLHOST_TRY(parse_label(field, column));
      } else {
        DLHOST_TRY(parse_number(field, column, table_.values));
      }
    }
    if (!left.empty() || (width_ > 0 && std::count(line.begin(), line.end(), format_.delimiter) != width_ - 1))
      return Status::corrupt("row ", row_, " has more than the ", width_, " columns of the first row");
    ++table_.rows;
    return {};
  }

  Status parse_number(std::string_view field, std::int64_t column, std::vector<float>& into) {
    std::string_view digits = field;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    float value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::invalid_argument || end != digits.data() + digits.size() || field.empty()) {
      if (row_ == 1 && !format_.header)
        return Status::corrupt("row 1, column ", column + 1, ": ", shown(field),
                               " is not a number; if the row names the columns, say header = true");
      return Status::corrupt(
          "row ", row_, ", column ", column + 1, ": ", shown(field), " is not a number",
          label_ >= 0 ? concat("; the label is column ", label_ + 1, " (label_column = ", label_, ")") : "");
    }
    if (error == std::errc::result_out_of_range || !std::isfinite(value))
      return Status::corrupt("row ", row_, ", column ", column + 1, ": ", shown(field),
                             " is not a finite 32-bit number");
    into.push_back(value);
    return {};
  }

  Status parse_label(std::string_view field, std::int64_t column) {
    if (format_.label == CsvLabel::value) return parse_number(field, column, table_.targets);
    if (!format_.classes.empty()) {
      const auto found = std::ranges::find(format_.classes, field);
      if (found == format_.classes.end())
        return Status::corrupt("row ", row_, ", column ", column + 1, ": label ", shown(field),
                               " is not one of the classes that the job lists");
      table_.classes.push_back(static_cast<std::int32_t>(found - format_.classes.begin()));
      return {};
    }
    std::int32_t label = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), label);
    if (error != std::errc{} || end != field.data() + field.size() || label < 0)
      return Status::corrupt("row ", row_, ", column ", column + 1, ": label ", shown(field),
                             " is not a class number (0, 1, ...); name the classes with `classes`, or say "
                             "label = \"value\" or label = \"none\"");
    table_.classes.push_back(label);
    return {};
  }

  std::string_view rest_;
  const CsvFormat& format_;
  CsvTable table_;
  std::int64_t row_ = 0;
  std::int64_t width_ = 0;
  std::int64_t label_ = -1;
  bool header_seen_ = false;
};

} // namespace

Result<CsvTable> parse_csv(std::string_view text, const CsvFormat& format) { return CsvParser(text, format).run(); }

} // namespace dlhost::input
