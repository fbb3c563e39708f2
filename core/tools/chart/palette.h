// The colour and stroke of each line: the same in pictures and on terminals.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/chart/panels.h"

namespace dlhost::tools {

// Okabe and Ito's colours that are visible on white, and the nearest of a terminal's 256.
struct Color {
  std::string_view hex;
  int terminal;
};
inline constexpr std::array<Color, 7> colors = {{{"#0072b2", 32},
                                                 {"#d55e00", 208},
                                                 {"#009e73", 36},
                                                 {"#cc79a7", 175},
                                                 {"#56b4e9", 117},
                                                 {"#e69f00", 214},
                                                 {"#444444", 247}}};

// One run: a colour for each phase. Several runs: a colour for each run, a stroke for each phase.
class Palette {
 public:
  Palette(std::span<const Panel>, std::size_t runs);
  const Color& color(const Line&) const;
  // 0 is solid, 1 dashed, 2 dotted.
  std::size_t stroke(const Line&) const;
  bool by_run() const { return runs_ > 1; }
  const std::vector<std::string>& phases() const { return phases_; } // the drawn ones: train, validation, test, others

 private:
  std::size_t rank(const Line&) const;
  std::size_t runs_;
  std::vector<std::string> phases_;
};

} // namespace dlhost::tools
