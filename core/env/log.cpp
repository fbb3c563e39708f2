#include "env/log.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "env/printable.h"

namespace dlhost::env {

namespace {

constexpr std::size_t most_kept = 256 * 1024; // bytes of lines that no file has yet

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
  case LogLevel::debug: return spdlog::level::debug;
  case LogLevel::info: return spdlog::level::info;
  case LogLevel::warning: return spdlog::level::warn;
  case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

// "2026-11-28T21:33:28Z"
std::string now_in_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::array<char, 32> text{};
  gmtime_r(&now, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

} // namespace

struct UserLog::Sink {
  spdlog::logger logger{"dlhost", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()};
};

UserLog::UserLog(LogLevel lowest) : lowest_(lowest), sink_(std::make_unique<Sink>()) {
  sink_->logger.set_level(spdlog::level::trace); // lower levels are filtered in write()
  // The level first, as compilers print it; coloured if the terminal can.
  sink_->logger.set_pattern("%^%l%$: %v");
}

UserLog::~UserLog() = default;

bool UserLog::shows(LogLevel level) { return level >= std::min(lowest_, LogLevel::info); }

void UserLog::write(LogLevel level, std::string_view text) {
  const std::string shown = printable(text, longest_message);
  if (level >= lowest_) sink_->logger.log(level_of(level), spdlog::string_view_t(shown.data(), shown.size()));
  keep(level, shown);
}

void UserLog::keep(LogLevel level, std::string_view text) {
  if (level < LogLevel::info) return;
  const auto name = spdlog::level::to_string_view(level_of(level));
  const std::string line = concat(now_in_utc(), " ", std::string_view(name.data(), name.size()), ": ", text, "\n");
  const std::scoped_lock lock(guard_);
  if (file_)
    file_->append(line).ignore("standard error has the important lines; a full disk stops the run elsewhere");
  else if (kept_.size() + line.size() <= most_kept)
    kept_ += line;
}

Status UserLog::keep_in(Disk& disk, const std::string& path) {
  const std::scoped_lock lock(guard_);
  if (file_ && path == path_) return {};
  DLHOST_ASSIGN(auto file, disk.open_log(path));
  DLHOST_TRY(file->append(std::exchange(kept_, std::string())));
  file_ = std::move(file);
  path_ = path;
  return {};
}

} // namespace dlhost::env
