// Status and Result: how dlhost reports errors.
//
// A Status is for errors that can be expected (a bad option, a missing file, a full disk); exceptions are only for
// errors that end the job. A message names the place and the remedy. Each caller may add its own place in front with
// `at()`. A Status is cheap while it is ok (one null pointer) and must not be dropped silently.
#pragma once

#include <charconv>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <dlhost/visibility.h>

namespace dlhost {

namespace detail {
inline void append(std::string& text, std::string_view part) { text += part; }
// A template, so that a string literal does not convert to bool.
template <std::same_as<bool> Bool> void append(std::string& text, Bool part) { text += part ? "true" : "false"; }
inline void append(std::string& text, char part) { text += part; }
template <class Number>
requires((std::integral<Number> || std::floating_point<Number>)&&!std::same_as<Number, bool> &&
         !std::same_as<Number, char>) void append(std::string& text, Number part) {
  char digits[32];
  auto end = std::to_chars(digits, digits + sizeof digits, part).ptr;
  text.append(digits, end);
}
} // namespace detail

// Joins words and numbers into one text: concat("units is ", 0, ", but must be at least ", 1).
template <class... Parts> std::string concat(const Parts&... parts) {
  std::string text;
  (detail::append(text, parts), ...);
  return text;
}

enum class Code : unsigned char {
  ok,
  invalid,     // a wrong argument of the caller or the user
  not_found,   //
  exists,      // exists already
  unsupported, // this build, device or machine cannot
  io,          // the system refused
  no_space,    // disk, memory or segment is full
  corrupt,     // malformed bytes from outside
  timeout,     //
  gone,        // the other side died or left
  cancelled,   // the user or another part asked to stop
  internal,    // a bug in dlhost or in a plugin
};

class [[nodiscard]] DLHOST_API Status {
 public:
  Status() noexcept = default;
  Status(Code code, std::string message);
  Status(const Status&);
  Status& operator=(const Status&);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  template <class... Parts> static Status invalid(const Parts&... p) { return {Code::invalid, concat(p...)}; }
  template <class... Parts> static Status not_found(const Parts&... p) { return {Code::not_found, concat(p...)}; }
  template <class... Parts> static Status exists(const Parts&... p) { return {Code::exists, concat(p...)}; }
  template <class... Parts> static Status unsupported(const Parts&... p) { return {Code::unsupported, concat(p...)}; }
  template <class... Parts> static Status io(const Parts&... p) { return {Code::io, concat(p...)}; }
  template <class... Parts> static Status no_space(const Parts&... p) { return {Code::no_space, concat(p...)}; }
  template <class... Parts> static Status corrupt(const Parts&... p) { return {Code::corrupt, concat(p...)}; }
  template <class... Parts> static Status timeout(const Parts&... p) { return {Code::timeout, concat(p...)}; }
  template <class... Parts> static Status gone(const Parts&... p) { return {Code::gone, concat(p...)}; }
  template <class... Parts> static Status cancelled(const Parts&... p) { return {Code::cancelled, concat(p...)}; }
  template <class... Parts> static Status internal(const Parts&... p) { return {Code::internal, concat(p...)}; }
  // From errno, with the system's text.
  static Status system(int error, std::string_view doing);

  bool ok() const noexcept { return rep_ == nullptr; }
  explicit operator bool() const noexcept { return ok(); }
  Code code() const noexcept { return rep_ ? rep_->code : Code::ok; }
  const std::string& message() const noexcept;

  // Puts a place in front of the message; an ok status stays ok.
  template <class... Parts> Status at(const Parts&... place) && {
    if (rep_) rep_->message = concat(place..., ": ", rep_->message);
    return std::move(*this);
  }

  // Drops the status on purpose, with the reason.
  void ignore(std::string_view /*because*/) const noexcept {}

 private:
  struct Rep {
    Code code;
    std::string message;
  };
  std::unique_ptr<Rep> rep_;
};

DLHOST_API std::string_view name_of(Code);

// A value, or the reason for its absence.
template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const noexcept { return status_.ok(); }
  explicit operator bool() const noexcept { return ok(); }
  const Status& status() const& noexcept { return status_; }
  Status status() && noexcept { return std::move(status_); }
  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  T&& operator*() && noexcept { return std::move(*value_); }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

} // namespace dlhost

#define DLHOST_JOIN_(a, b) a##b
#define DLHOST_JOIN(a, b) DLHOST_JOIN_(a, b)

// Returns from the calling function if the expression's Status is not ok.
#define DLHOST_TRY(expression)                                                                                         \
  do {                                                                                                                 \
    if (::dlhost::Status dlhost_status_ = (expression); !dlhost_status_.ok()) return dlhost_status_;                   \
  } while (false)

// DLHOST_ASSIGN(auto file, disk.open(path)): assigns the value, or returns the error.
#define DLHOST_ASSIGN(target, expression)                                                                              \
  auto DLHOST_JOIN(dlhost_result_, __LINE__) = (expression);                                                           \
  if (!DLHOST_JOIN(dlhost_result_, __LINE__).ok()) return std::move(DLHOST_JOIN(dlhost_result_, __LINE__)).status();   \
  target = *std::move(DLHOST_JOIN(dlhost_result_, __LINE__))
