// A table of counts from an evaluation: how often each class (row) was predicted as each class (column).
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace dlhost::record {

struct Table {
  std::string name; // its layer's name
  std::size_t rows = 0, columns = 0;
  std::vector<double> counts; // row-major

  double at(std::size_t row, std::size_t column) const { return counts[row * columns + column]; }
};

// Precision and recall of each class in a square table; NaN: no samples to count.
struct ClassScores {
  std::vector<double> precision, recall;
};
ClassScores class_scores(const Table&);

// For people: the whole table if small, else the most confused classes.
std::string table_text(const Table&);
std::string table_markdown(const Table&);
// The counts, row by row.
nlohmann::ordered_json table_json(const Table&);

} // namespace dlhost::record
