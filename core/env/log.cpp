#include "env/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

namespace dlhost::env {

namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
  case LogLevel::debug: return spdlog::level::debug;
  case LogLevel::info: return spdlog::level::info;
  case LogLevel::warning: return spdlog::level::warn;
  case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

} // namespace

struct StderrLog::Sink {
  spdlog::logger logger{"dlhost", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()};
};

StderrLog::StderrLog(LogLevel lowest) : lowest_(lowest), sink_(std::make_unique<Sink>()) {
  sink_->logger.set_level(level_of(lowest));
  // The level's word in front, as compilers do, but coloured where the terminal can.
  sink_->logger.set_pattern("%^%l%$: %v");
}

StderrLog::~StderrLog() = default;

bool StderrLog::shows(LogLevel level) { return level >= lowest_; }

void StderrLog::write(LogLevel level, std::string_view text) {
  sink_->logger.log(level_of(level), spdlog::string_view_t(text.data(), text.size()));
}

} // namespace dlhost::env
