// A log whose disk may be full for a while: what it does not take is kept in memory, and written with the next line.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <dlhost/host.h>

namespace dlhost::record {

class PatientLog final : public LogFile {
 public:
  PatientLog(std::unique_ptr<LogFile> file, Host& host) : file_(std::move(file)), host_(host) {}

  // The first line that is kept is told to the host's log.
  Status append(std::string_view line) override;
  // Code::no_space: what is kept could not be written.
  Status sync() override;

 private:
  std::unique_ptr<LogFile> file_;
  Host& host_;
  std::string kept_;
  Nanoseconds next_try_ = 0; // while lines are kept
};

} // namespace dlhost::record
