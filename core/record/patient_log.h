// A log for a disk that may be full for a while: lines that it cannot write stay in memory until the next call.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <dlhost/host.h>

namespace dlhost::record {

class PatientLog final : public LogFile {
 public:
  PatientLog(std::unique_ptr<LogFile> file, Host& host) : file_(std::move(file)), host_(host) {}

  // Warns in the host's log when it first keeps a line.
  Status append(std::string_view line) override;
  // Errors: Code::no_space if kept lines could not be written.
  Status sync() override;

 private:
  std::unique_ptr<LogFile> file_;
  Host& host_;
  std::string kept_;
  Nanoseconds next_try_ = 0; // while lines are kept in memory
};

} // namespace dlhost::record
