#include <dlhost/status.h>

#include <cerrno>
#include <system_error>

namespace dlhost {

namespace {

Code code_of(int error) {
  switch (error) {
  case ENOENT: return Code::not_found;
  case EEXIST: return Code::exists;
  case ENOSPC:
  case EDQUOT:
  case ENOMEM: return Code::no_space;
  case ETIMEDOUT: return Code::timeout;
  case EPIPE:
  case ECONNRESET: return Code::gone;
  default: return Code::io;
  }
}

} // namespace

Status::Status(Code code, std::string message) : rep_(std::make_unique<Rep>(Rep{code, std::move(message)})) {}

Status::Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
  return *this;
}

Status Status::system(int error, std::string_view doing) {
  return {code_of(error), concat(doing, ": ", std::generic_category().message(error))};
}

const std::string& Status::message() const noexcept {
  static const std::string none;
  return rep_ ? rep_->message : none;
}

std::string_view name_of(Code code) {
  switch (code) {
  case Code::ok: return "ok";
  case Code::invalid: return "invalid";
  case Code::not_found: return "not found";
  case Code::exists: return "exists";
  case Code::unsupported: return "unsupported";
  case Code::io: return "io";
  case Code::no_space: return "no space";
  case Code::corrupt: return "corrupt";
  case Code::timeout: return "timeout";
  case Code::gone: return "gone";
  case Code::cancelled: return "cancelled";
  case Code::internal: return "internal";
  }
  return "unknown";
}

} // namespace dlhost
