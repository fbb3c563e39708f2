#include "record/trace.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/json_text.h"

namespace dlhost::record {

namespace {

std::string quoted(const std::string& text) {
  using Json = nlohmann::json;
  return env::json_text(Json(text));
}

// The format is in microseconds; decimals keep the nanoseconds.
std::string microseconds(Nanoseconds time) { return fmt::format("{}.{:03}", time / 1000, time % 1000); }

Status append(NewFile& file, const std::string& text) { return file.append(std::as_bytes(std::span(text))); }

} // namespace

Status write_trace(Disk& disk, const std::string& path, std::span<const TraceEvent> events,
                   std::span<const std::string> tracks, const std::string& what) {
  DLHOST_ASSIGN(const auto file, disk.create(path));
  std::string text =
      fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"what\":{}}},\"traceEvents\":[\n", quoted(what));
  text += R"({"name":"process_name","ph":"M","pid":1,"args":{"name":"dlhost"}})";
  for (std::size_t track = 0; track < tracks.size(); ++track)
    text += fmt::format(",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{},\"args\":{{\"name\":{}}}}}",
                        track, quoted(tracks[track]));
  const auto first = std::ranges::min_element(events, {}, &TraceEvent::start);
  for (const TraceEvent& event : events) {
    DLHOST_TRY(append(*file, text));
    text.clear();
    fmt::format_to(std::back_inserter(text),
                   ",\n{{\"name\":{},\"cat\":{},\"ph\":\"X\",\"ts\":{},\"dur\":{},\"pid\":1,\"tid\":{}}}",
                   quoted(event.name), quoted(event.category), microseconds(event.start - first->start),
                   microseconds(event.duration), event.track);
  }
  text += "\n]}\n";
  DLHOST_TRY(append(*file, text));
  return file->commit();
}

} // namespace dlhost::record
