// A log whose disk may be full for a while: what it does not take is kept in memory, and written with the next line.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <dlhost/host.h>

namespace dlhost::record {

class PatientLog {
 public:
  // The first line that is kept is told to `log`.
  PatientLog(std::unique_ptr<LogFile> file, Log& log) : file_(std::move(file)), log_(log) {}

  Status append(std::string_view line);
  // Code::no_space: what is kept could not be written.
  Status sync();

 private:
  std::unique_ptr<LogFile> file_;
  Log& log_;
  std::string kept_;
};

} // namespace dlhost::record
