// A field of a CSV file, quoted if spreadsheets and pandas need it.
#pragma once

#include <string>

namespace dlhost::cli {

inline std::string csv_field(const std::string& field) {
  if (field.find_first_of(",\"\n\r") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

} // namespace dlhost::cli
