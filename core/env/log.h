// Words to the user, on standard error. Any thread may write; each line stays whole.
#pragma once

#include <memory>

#include <dlhost/host.h>

namespace dlhost::env {

class StderrLog : public Log {
 public:
  // Lines below `lowest` are dropped.
  explicit StderrLog(LogLevel lowest);
  ~StderrLog() override;
  bool shows(LogLevel) override;
  void write(LogLevel, std::string_view) override;

 private:
  struct Sink; // keeps spdlog out of the headers
  LogLevel lowest_;
  std::unique_ptr<Sink> sink_;
};

} // namespace dlhost::env
