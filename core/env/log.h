// Words to the user, on standard error, and all of them in a file once there is one. Any thread may write; each line
// stays whole.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <dlhost/host.h>

namespace dlhost::env {

class UserLog : public Log {
 public:
  // On standard error stand lines from `lowest` on.
  explicit UserLog(LogLevel lowest);
  ~UserLog() override;
  // From now on; before tasks are started.
  void set_lowest(LogLevel lowest) { lowest_ = lowest; }
  // Lines from info on stand there as well, each with its time (UTC) and its level, behind what the file has; those of
  // before too, as many as were kept. Another file than before takes its place.
  Status keep_in(Disk&, const std::string& path);
  // A line for that file alone: standard error has it already.
  void keep(LogLevel, std::string_view);
  bool shows(LogLevel) override;
  void write(LogLevel, std::string_view) override;

 private:
  struct Sink; // keeps spdlog out of the headers
  LogLevel lowest_;
  std::unique_ptr<Sink> sink_;
  std::mutex guard_; // of what follows
  std::string path_;
  std::unique_ptr<LogFile> file_; // null: there is none yet
  std::string kept_;              // for it
};

} // namespace dlhost::env
