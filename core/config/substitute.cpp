#include "config/substitute.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

namespace dlhost::config {

namespace {

using Number = std::variant<std::int64_t, double>;

bool starts_name(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_';
}
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

double real(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

// sum = product { ("+" | "-") product }, product = factor { ("*" | "/" | "%") factor },
// factor = number | "$" name | "-" factor | "(" sum ")". Integers stay integers, and divide as they do in C.
class Arithmetic {
 public:
  Arithmetic(std::string_view text, const Scope& scope) : text_(text), scope_(scope) {}

  // None: the text is no arithmetic; if it is but has no value, `error` is set.
  std::optional<Number> value() {
    const auto result = sum();
    skip();
    if (!result || at_ != text_.size()) return std::nullopt;
    return result;
  }
  std::string error;

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char wanted) {
    skip();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  std::optional<Number> sum() {
    auto left = product();
    while (left) {
      const char sign = take('+') ? '+' : take('-') ? '-' : 0;
      if (!sign) break;
      const auto right = product();
      if (!right) return std::nullopt;
      left = combine(sign, *left, *right);
    }
    return left;
  }

  std::optional<Number> product() {
    auto left = factor();
    while (left) {
      const char sign = take('*') ? '*' : take('/') ? '/' : take('%') ? '%' : 0;
      if (!sign) break;
      const auto right = factor();
      if (!right) return std::nullopt;
      left = combine(sign, *left, *right);
    }
    return left;
  }

  std::optional<Number> factor() {
    if (++depth_ > 100) return std::nullopt;
    const auto result = unguarded_factor();
    --depth_;
    return result;
  }

  std::optional<Number> unguarded_factor() {
    if (take('(')) {
      const auto inner = sum();
      return inner && take(')') ? inner : std::nullopt;
    }
    if (take('-')) {
      const auto inner = factor();
      return inner ? std::optional(combine('-', std::int64_t{0}, *inner)) : std::nullopt;
    }
    if (take('$')) return parameter();
    return literal();
  }

  std::optional<Number> parameter() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (starts_name(text_[at_]) || (at_ > start && is_digit(text_[at_])))) ++at_;
    const auto found = scope_.find(text_.substr(start, at_ - start));
    if (found == scope_.end()) return std::nullopt;
    if (const auto* whole = std::get_if<std::int64_t>(&found->second.data)) return *whole;
    if (const auto* number = std::get_if<double>(&found->second.data)) return *number;
    return std::nullopt;
  }

  std::optional<Number> literal() {
    skip();
    const char* const first = text_.data() + at_;
    const char* const last = text_.data() + text_.size();
    if (first == last || !is_digit(*first)) return std::nullopt;
    std::int64_t whole = 0;
    const auto as_whole = std::from_chars(first, last, whole);
    double number = 0;
    const auto as_number = std::from_chars(first, last, number);
    if (as_whole.ec == std::errc() && as_whole.ptr == as_number.ptr) {
      at_ += static_cast<std::size_t>(as_whole.ptr - first);
      return whole;
    }
    if (as_number.ec != std::errc()) return std::nullopt;
    at_ += static_cast<std::size_t>(as_number.ptr - first);
    return number;
  }

  Number combine(char sign, const Number& left, const Number& right) {
    const auto* a = std::get_if<std::int64_t>(&left);
    const auto* b = std::get_if<std::int64_t>(&right);
    if (!a || !b) return combine(sign, real(left), real(right));
    std::int64_t result = 0;
    bool overflow = false;
    switch (sign) {
    case '+': overflow = __builtin_add_overflow(*a, *b, &result); break;
    case '-': overflow = __builtin_sub_overflow(*a, *b, &result); break;
    case '*': overflow = __builtin_mul_overflow(*a, *b, &result); break;
    default:
      if (*b == 0)
        error = "divides by zero";
      else if (*b == -1) // the one division that can overflow
        overflow = sign == '/' && __builtin_sub_overflow(std::int64_t{0}, *a, &result);
      else
        result = sign == '/' ? *a / *b : *a % *b;
    }
    if (overflow) error = "is too large for an integer";
    return result;
  }

  static Number combine(char sign, double a, double b) {
    switch (sign) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return a / b;
    default: return std::fmod(a, b);
    }
  }

  std::string_view text_;
  const Scope& scope_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::string as_text(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  return text ? *text : detail::written(value);
}

// Parses "$name" or "${name}" at the start of `text`: the name and the number of letters.
std::pair<std::string_view, std::size_t> name_at(std::string_view text) {
  const bool braces = text.size() > 1 && text[1] == '{';
  const std::size_t start = braces ? 2 : 1;
  std::size_t end = start;
  while (end < text.size() && (starts_name(text[end]) || (end > start && is_digit(text[end])))) ++end;
  return {text.substr(start, end - start), braces && end < text.size() && text[end] == '}' ? end + 1 : end};
}

Value fill_in(const std::string& text, const Location& where, const Filling& filling) {
  const auto [only, length] = name_at(text);
  if (text.front() == '$' && length == text.size())
    if (const auto found = filling.scope.find(only); found != filling.scope.end())
      return filling.room.take(found->second) ? Value{found->second.data, where} : Value{{}, where};
  Arithmetic arithmetic(text, filling.scope);
  if (const auto number = arithmetic.value()) {
    if (!arithmetic.error.empty()) filling.complain(where, concat("\"", text, "\" ", arithmetic.error));
    return std::visit([&](auto value) { return Value{value, where}; }, *number);
  }
  std::string filled;
  int unknown = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '$') {
      filled += text[i++];
      continue;
    }
    if (text.compare(i, 2, "$$") == 0) {
      filled += '$';
      i += 2;
      continue;
    }
    const auto [name, used] = name_at(std::string_view(text).substr(i));
    const auto found = filling.scope.find(name);
    if (found != filling.scope.end()) {
      if (!filling.room.take(found->second)) break;
      filled += as_text(found->second);
    } else {
      if (++unknown <= 20)
        filling.complain(where, concat("unknown parameter '$", name, "' in \"", text, "\"; ", filling.suggest(name)));
      filled += text.substr(i, used);
    }
    i += used;
  }
  return {std::move(filled), where};
}

// The approximate cost of a copy.
std::size_t bytes_of(const Value& value) {
  std::size_t bytes = sizeof(Value);
  if (const auto* text = std::get_if<std::string>(&value.data)) bytes += text->size();
  if (const auto* list = std::get_if<List>(&value.data))
    for (const auto& item : *list) bytes += bytes_of(item);
  if (const auto* table = std::get_if<Table>(&value.data))
    for (const auto& [key, item] : table->entries) bytes += sizeof(TableEntry) + key.size() + bytes_of(item);
  return bytes;
}

} // namespace

bool Room::take(std::size_t bytes) {
  left_ -= std::min(left_, bytes);
  return left_ > 0;
}

bool Room::take(const Value& value) { return take(bytes_of(value)); }

Value substitute(const Value& value, const Filling& filling) {
  if (filling.room.is_full()) return {{}, value.where};
  if (const auto* text = std::get_if<std::string>(&value.data)) {
    if (!filling.room.take(sizeof(Value) + text->size())) return {{}, value.where};
    return text->find('$') == std::string::npos ? value : fill_in(*text, value.where, filling);
  }
  Value filled{{}, value.where};
  if (const auto* list = std::get_if<List>(&value.data)) {
    auto& items = filled.data.emplace<List>();
    for (const auto& item : *list) items.push_back(substitute(item, filling));
  } else if (const auto* table = std::get_if<Table>(&value.data)) {
    auto& copy = filled.data.emplace<Table>();
    copy.where = table->where;
    for (const auto& [key, item] : table->entries) {
      filling.room.take(sizeof(TableEntry) + key.size());
      copy.entries.emplace_back(key, substitute(item, filling));
    }
  } else {
    filling.room.take(sizeof(Value));
    filled.data = value.data;
  }
  return filled;
}

} // namespace dlhost::config
