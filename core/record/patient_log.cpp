#include "record/patient_log.h"

namespace dlhost::record {

Status PatientLog::append(std::string_view line) {
  constexpr std::size_t most = std::size_t{64} << 20;
  constexpr Nanoseconds between_tries = 1'000'000'000;
  const bool keeps = !kept_.empty();
  if (keeps) {
    kept_ += line;
    if (host_.clock().now() < next_try_) return {};
  }
  Status status = file_->append(keeps ? std::string_view(kept_) : line);
  if (status.ok()) {
    kept_.clear();
    return {};
  }
  if (status.code() != Code::no_space || kept_.size() > most) return status;
  next_try_ = host_.clock().now() + between_tries;
  if (keeps) return {};
  kept_ = line;
  host_.log().write(
      LogLevel::warning,
      concat(status.message(), ". The run goes on; its records are kept in memory until the disk has room"));
  return {};
}

Status PatientLog::sync() {
  if (!kept_.empty()) {
    DLHOST_TRY(file_->append(kept_));
    kept_.clear();
  }
  return file_->sync();
}

} // namespace dlhost::record
