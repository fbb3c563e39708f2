// A host for tests of loading: it keeps the log and offers nothing else.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <dlhost/host.h>

namespace dlhost::plugin {

class FakeHost final : public Host, private Log {
 public:
  Clock& clock() override { std::abort(); }
  Tasks& tasks() override { std::abort(); }
  Disk& disk() override { std::abort(); }
  Log& log() override { return *this; }
  Result<std::unique_ptr<Plugin>> make(Kind, const Part&) override { return Status::unsupported("a fake host"); }

  // All lines, each with its level in front: "warning: ...".
  std::string logged;

 private:
  bool shows(LogLevel) override { return true; }
  void write(LogLevel level, std::string_view line) override {
    constexpr std::string_view words[] = {"debug", "info", "warning", "error"};
    logged += concat(words[static_cast<int>(level)], ": ", line, "\n");
  }
};

} // namespace dlhost::plugin
