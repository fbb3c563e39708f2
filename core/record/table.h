// Tables of counts that an evaluation sums up: how often each class (row) was taken for each (column).
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace dlhost::record {

struct Table {
  std::string name; // its layer's
  std::size_t rows = 0, columns = 0;
  std::vector<double> counts; // row-major

  double at(std::size_t row, std::size_t column) const { return counts[row * columns + column]; }
};

// What a square table says of each class: the share of those taken for it that were it, and the share of it that was
// found. Not a number where there were none.
struct ClassScores {
  std::vector<double> precision, recall;
};
ClassScores class_scores(const Table&);

// For people: the whole table where it is small, else the classes that were taken for each other most.
std::string table_text(const Table&);
std::string table_markdown(const Table&);
// The counts, row by row.
nlohmann::ordered_json table_json(const Table&);

} // namespace dlhost::record
