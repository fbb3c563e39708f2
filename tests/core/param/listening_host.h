// A host that keeps its log's lines.
#pragma once

#include <string>
#include <vector>

#include "env/real_host.h"

namespace dlhost::param {

class ListeningHost final : public env::RealHost, private Log {
 public:
  Log& log() override { return *this; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  bool shows(LogLevel) override { return true; }
  void write(LogLevel, std::string_view line) override { lines_.emplace_back(line); }

  std::vector<std::string> lines_;
};

} // namespace dlhost::param
