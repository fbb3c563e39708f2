#include "tools/chart/chart_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "record/quantity.h"
#include "tools/chart/palette.h"

namespace dlhost::tools {

namespace {

constexpr int rows = 12, most_columns = 100, label_width = 9;
constexpr std::string_view letters = "*+ox#%@";

// A grid of cells of dots. A cell has the colour of the last thing drawn on it.
class Canvas {
 public:
  Canvas(int columns, env::Terminal& terminal)
      : columns_(columns), braille_(terminal.unicode()), color_(terminal.color()),
        cells_(static_cast<std::size_t>(columns * rows)) {}

  int width() const { return columns_ * (braille_ ? 2 : 1); }
  int height() const { return rows * (braille_ ? 4 : 1); }

  void dot(int x, int y, int color, char letter) {
    if (x < 0 || y < 0 || x >= width() || y >= height()) return;
    // Unicode's bit order: down the left column, down the right one, then the lowest row.
    constexpr unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    Cell& cell = cells_[static_cast<std::size_t>(braille_ ? y / 4 * columns_ + x / 2 : y * columns_ + x)];
    cell.dots |= braille_ ? bits[y % 4][x % 2] : 1;
    cell.color = color;
    cell.letter = letter;
  }

  std::string row(int number) const {
    std::string text;
    int color = -1;
    for (int i = 0; i < columns_; ++i) {
      const Cell& cell = cells_[static_cast<std::size_t>(number * columns_ + i)];
      const int wanted = cell.dots ? cell.color : -1;
      if (color_ && wanted != color) text += wanted < 0 ? "\x1b[0m" : fmt::format("\x1b[38;5;{}m", wanted);
      color = wanted;
      text += shape(cell);
    }
    if (color_ && color >= 0) text += "\x1b[0m";
    return text;
  }

 private:
  struct Cell {
    unsigned char dots = 0;
    char letter = ' ';
    int color = -1;
  };

  std::string shape(const Cell& cell) const {
    if (cell.dots == 0) return " ";
    if (!braille_) return std::string(1, cell.letter);
    // U+2800 plus the dots, in UTF-8.
    return {'\xe2', static_cast<char>(0xa0 | cell.dots >> 6), static_cast<char>(0x80 | (cell.dots & 0x3f))};
  }

  int columns_;
  bool braille_;
  bool color_;
  std::vector<Cell> cells_;
};

struct Ink {
  int color;
  char letter;
};

void draw(Canvas& canvas, const Axis& x, const Axis& y, std::span<const Sample> samples, Ink ink) {
  bool joined = false;
  double last_x = 0, last_y = 0;
  for (const Sample& sample : samples) {
    if (!y.shows(sample.y)) {
      joined = false;
      continue;
    }
    const double to_x = x.place(sample.x) * (canvas.width() - 1);
    const double to_y = (1 - y.place(sample.y)) * (canvas.height() - 1);
    const int count = joined ? static_cast<int>(std::max({std::abs(to_x - last_x), std::abs(to_y - last_y), 1.0})) : 1;
    for (int i = 1; i <= count; ++i) {
      const double part = joined ? static_cast<double>(i) / count : 1;
      canvas.dot(static_cast<int>(std::lround(last_x + (to_x - last_x) * part)),
                 static_cast<int>(std::lround(last_y + (to_y - last_y) * part)), ink.color, ink.letter);
    }
    joined = true;
    last_x = to_x;
    last_y = to_y;
  }
}

std::string key_of(const Line& line, Ink ink, std::span<const std::string> runs, env::Terminal& terminal) {
  const std::string name = runs.size() > 1 ? concat(runs[line.run], " ", line.phase) : line.phase;
  const std::string end = line.main().empty() ? "" : fmt::format(" {}", record::short_number(line.main().back().y));
  const std::string mark = terminal.unicode() ? "━━" : std::string(2, ink.letter);
  if (!terminal.color()) return fmt::format("{} {}{}", mark, name, end);
  return fmt::format("\x1b[38;5;{}m{}\x1b[0m {}{}", ink.color, mark, name, end);
}

// The labels of an axis' ticks, each on the nearest row.
std::vector<std::string> row_labels(const Axis& y) {
  std::vector<std::string> labels(rows);
  for (const Tick& tick : y.ticks()) {
    const int row = static_cast<int>(std::lround((1 - y.place(tick.value)) * (rows - 1)));
    if (row >= 0 && row < rows && labels[static_cast<std::size_t>(row)].empty())
      labels[static_cast<std::size_t>(row)] = tick.label;
  }
  return labels;
}

std::string x_labels(const Axis& x, int columns, std::string_view name) {
  std::string line(static_cast<std::size_t>(columns), ' ');
  std::size_t free = 0;
  for (const Tick& tick : x.ticks()) {
    const auto middle = std::lround(x.place(tick.value) * (columns - 1));
    const auto size = static_cast<long>(tick.label.size());
    const auto at = static_cast<std::size_t>(std::clamp<long>(middle - size / 2, 0, std::max<long>(columns - size, 0)));
    if (at < free || at + tick.label.size() > line.size()) continue;
    line.replace(at, tick.label.size(), tick.label);
    free = at + tick.label.size() + 1;
  }
  return concat(line, " ", name);
}

std::string panel_text(const Panel& panel, std::span<const std::string> runs, const Palette& palette, XAxis x_axis,
                       env::Terminal& terminal) {
  const int columns = std::clamp(std::min(terminal.columns(), most_columns) - label_width - 12, 10, most_columns);
  const Axis x = panel.x_axis(5), y = panel.y_axis(4);
  Canvas canvas(columns, terminal);
  std::string keys;
  for (std::size_t i = 0; i < panel.lines.size(); ++i) {
    const Line& line = panel.lines[i];
    // A terminal has no strokes: if runs are compared, each of their phases gets a colour.
    const std::size_t rank = palette.by_run() && palette.phases().size() > 1 ? i : line.run;
    const Ink ink{palette.by_run() ? colors[rank % colors.size()].terminal : palette.color(line).terminal,
                  letters[i % letters.size()]};
    draw(canvas, x, y, line.main(), ink);
    keys += fmt::format("{:>{}}  {}\n", "", label_width, key_of(line, ink, runs, terminal));
  }
  const bool unicode = terminal.unicode();
  std::string text = fmt::format("{:>{}}  {}\n", "", label_width, panel.metric + (panel.logarithmic ? " (log)" : ""));
  const auto labels = row_labels(y);
  for (int row = 0; row < rows; ++row) {
    const std::string& label = labels[static_cast<std::size_t>(row)];
    const std::string_view edge = unicode ? (label.empty() ? "│" : "┤") : "|";
    text += fmt::format("{:>{}} {}{}\n", label, label_width, edge, canvas.row(row));
  }
  std::string base;
  for (int i = 0; i < columns; ++i) base += unicode ? "─" : "-";
  text += fmt::format("{:>{}} {}{}\n", "", label_width, unicode ? "└" : "+", base);
  text += fmt::format("{:>{}}  {}\n", "", label_width, x_labels(x, columns, name_of(x_axis)));
  return text + keys;
}

} // namespace

std::string chart_text(std::span<const Panel> panels, std::span<const std::string> runs, XAxis x,
                       env::Terminal& terminal) {
  const Palette palette(panels, runs.size());
  std::string text;
  for (const Panel& panel : panels) {
    if (!text.empty()) text += '\n';
    text += panel_text(panel, runs, palette, x, terminal);
  }
  return text;
}

} // namespace dlhost::tools
