// Messages to the user on standard error, and in a log file once there is one. Thread: any; lines stay whole.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <dlhost/host.h>

namespace dlhost::env {

class UserLog : public Log {
 public:
  // Standard error gets lines of level `lowest` and higher.
  explicit UserLog(LogLevel lowest);
  ~UserLog() override;
  // Requires: no tasks have been started.
  void set_lowest(LogLevel lowest) { lowest_ = lowest; }
  // Also appends lines of level info and higher to this file, each with its time (UTC) and level. Earlier lines are
  // kept up to a limit and go there first. A later call replaces the file.
  Status keep_in(Disk&, const std::string& path);
  // Writes a line to the file alone: standard error has it already.
  void keep(LogLevel, std::string_view);
  bool shows(LogLevel) override;
  void write(LogLevel, std::string_view) override;

 private:
  struct Sink; // keeps spdlog out of the headers
  LogLevel lowest_;
  std::unique_ptr<Sink> sink_;
  std::mutex guard_; // guards the members below
  std::string path_;
  std::unique_ptr<LogFile> file_; // null: none yet
  std::string kept_;              // lines for the file while there is none
};

} // namespace dlhost::env
