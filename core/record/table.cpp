#include "record/table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "record/quantity.h"

namespace dlhost::record {

namespace {

constexpr std::size_t most_shown = 16; // most classes of a table that fits a terminal

std::string share(double part) { return std::isfinite(part) ? fmt::format("{:.1f}%", 100 * part) : "-"; }

std::string whole_table(const Table& table) {
  const auto largest = *std::ranges::max_element(table.counts);
  const auto width = std::max<std::size_t>({fmt::format("{:.0f}", largest).size(), 4});
  const ClassScores scores = class_scores(table);
  std::string text = fmt::format("  {}: the class (row) and the predicted class (column)\n  {:>6}", table.name, "");
  for (std::size_t column = 0; column < table.columns; ++column) text += fmt::format(" {:>{}}", column, width);
  text += fmt::format("  {:>7}\n", "recall");
  for (std::size_t row = 0; row < table.rows; ++row) {
    text += fmt::format("  {:>6}", row);
    for (std::size_t column = 0; column < table.columns; ++column)
      text += fmt::format(" {:>{}.0f}", table.at(row, column), width);
    text += fmt::format("  {:>7}\n", share(scores.recall[row]));
  }
  text += fmt::format("  {:>6}", "prec.");
  for (const double precision : scores.precision) {
    const std::string cell = std::isfinite(precision) ? fmt::format("{:.0f}%", 100 * precision) : "-";
    text += fmt::format(" {:>{}}", cell, width);
  }
  return text + "\n";
}

struct Mistake {
  std::size_t row, column;
  double count;
};

std::string worst_mistakes(const Table& table) {
  constexpr std::size_t most = 10;
  std::vector<Mistake> mistakes;
  for (std::size_t row = 0; row < table.rows; ++row)
    for (std::size_t column = 0; column < table.columns; ++column)
      if (row != column && table.at(row, column) > 0) mistakes.push_back({row, column, table.at(row, column)});
  std::ranges::stable_sort(mistakes, std::greater<>{}, &Mistake::count);
  const ClassScores scores = class_scores(table);
  std::string text = fmt::format("  {}: {} classes; most often taken for each other:\n", table.name, table.rows);
  for (std::size_t i = 0; i < std::min(most, mistakes.size()); ++i)
    text += fmt::format("  {:>6} for {:<6} {:>6.0f} times; {} of class {} found\n", mistakes[i].row, mistakes[i].column,
                        mistakes[i].count, share(scores.recall[mistakes[i].row]), mistakes[i].row);
  return text;
}

} // namespace

ClassScores class_scores(const Table& table) {
  const std::size_t classes = std::min(table.rows, table.columns);
  ClassScores scores;
  for (std::size_t c = 0; c < classes; ++c) {
    double taken = 0, there = 0;
    for (std::size_t row = 0; row < table.rows; ++row) taken += table.at(row, c);
    for (std::size_t column = 0; column < table.columns; ++column) there += table.at(c, column);
    const double none = std::numeric_limits<double>::quiet_NaN();
    scores.precision.push_back(taken > 0 ? table.at(c, c) / taken : none);
    scores.recall.push_back(there > 0 ? table.at(c, c) / there : none);
  }
  return scores;
}

std::string table_text(const Table& table) {
  if (table.counts.empty()) return {};
  return table.rows <= most_shown && table.rows == table.columns ? whole_table(table) : worst_mistakes(table);
}

std::string table_markdown(const Table& table) {
  std::string text = "| |";
  for (std::size_t column = 0; column < table.columns; ++column) text += fmt::format(" {} |", column);
  text += "\n|---|";
  for (std::size_t column = 0; column < table.columns; ++column) text += "---|";
  for (std::size_t row = 0; row < table.rows; ++row) {
    text += fmt::format("\n| **{}** |", row);
    for (std::size_t column = 0; column < table.columns; ++column)
      text += fmt::format(" {:.0f} |", table.at(row, column));
  }
  return text + "\n";
}

nlohmann::ordered_json table_json(const Table& table) {
  auto rows = nlohmann::ordered_json::array();
  for (std::size_t row = 0; row < table.rows; ++row) {
    auto counts = nlohmann::ordered_json::array();
    for (std::size_t column = 0; column < table.columns; ++column)
      counts.push_back(static_cast<std::uint64_t>(table.at(row, column)));
    rows.push_back(std::move(counts));
  }
  return rows;
}

} // namespace dlhost::record
