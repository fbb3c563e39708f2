#include "config/depth.h"

#include <array>
#include <utility>

namespace dlhost::config {

namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<TextPlace> first_too_deep() {
    while (at_ < text_.size()) {
      step(text_[at_]);
      if (level() > most_levels) return place_;
    }
    return std::nullopt;
  }

 private:
  // The level of the key, header or value being read.
  std::size_t level() const { return base_ + parts_ * (doubled_ ? 2 : 1); }

  void step(char letter) {
    const bool begins_line = std::exchange(line_is_empty_, false);
    switch (letter) {
    case '\n': return end_line();
    case ' ':
    case '\t':
    case '\r': line_is_empty_ = begins_line; return advance();
    case '#': return skip_comment();
    case '"':
    case '\'': return skip_text(letter);
    case '.': ++parts_; return advance();
    case ',': parts_ = 1; return advance();
    case '{': return open();
    case '[': return begins_line && open_ == 0 ? begin_header() : in_header_ ? advance() : open();
    case '}':
    case ']': return in_header_ ? end_header() : close();
    default: return advance();
    }
  }

  void advance() {
    // Continuation bytes of UTF-8 are no columns.
    if ((static_cast<unsigned char>(text_[at_]) & 0xc0) != 0x80) ++place_.column;
    ++at_;
  }

  void end_line() {
    ++at_;
    place_ = {place_.line + 1, 1};
    line_is_empty_ = true;
    in_header_ = doubled_ = false;
    if (open_ == 0) parts_ = 1;
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') advance();
  }

  void begin_header() {
    in_header_ = true;
    // In an array of tables each name is a list with a table in it: two levels.
    doubled_ = text_.substr(at_).starts_with("[[");
    base_ = 0;
    parts_ = 1;
    advance();
  }

  void end_header() {
    base_ = level();
    in_header_ = doubled_ = false;
    parts_ = 1;
    advance();
  }

  void open() {
    if (open_ < around_.size()) around_[open_] = base_; // deeper levels: level() has reported it
    ++open_;
    base_ = level();
    parts_ = 1;
    advance();
  }

  void close() {
    if (open_ > 0) base_ = around_[--open_];
    advance();
  }

  void skip_text(char quote) {
    const std::string_view three = text_.substr(at_, 3);
    const bool long_text = three.size() == 3 && three[1] == quote && three[2] == quote;
    for (int i = long_text ? 3 : 1; i > 0; --i) advance();
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (letter == '\n') {
        if (!long_text) return; // unterminated; the parser reports it
        ++at_;
        place_ = {place_.line + 1, 1};
      } else if (letter == '\\' && quote == '"' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') {
        advance();
        advance();
      } else if (letter != quote) {
        advance();
      } else if (!long_text) {
        return advance();
      } else {
        std::size_t quotes = 0;
        for (; quotes < 5 && at_ < text_.size() && text_[at_] == quote; ++quotes) advance();
        if (quotes >= 3) return; // one or two quotes of the text may precede the closing three
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  TextPlace place_;
  std::size_t base_ = 0;                              // the level of the surroundings
  std::size_t parts_ = 1;                             // parts of the key being read
  std::size_t open_ = 0;                              // open brackets
  std::array<std::size_t, most_levels + 1> around_{}; // base_ outside of each bracket
  bool line_is_empty_ = true;
  bool in_header_ = false;
  bool doubled_ = false;
};

} // namespace

std::optional<TextPlace> too_deep_at(std::string_view text) { return Scanner(text).first_too_deep(); }

} // namespace dlhost::config
