#include "record/tensorboard.h"

#include <cstring>

#include <fmt/format.h>

#include "record/event.pb.h"
#include "record/masked_crc.h"

namespace dlhost::record {

namespace {

void append_little_endian(std::string& bytes, std::uint64_t number, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
}

// Layout: length, checksum of the length, bytes, checksum of the bytes.
void frame(std::string& record, const std::string& event) {
  record.clear();
  append_little_endian(record, event.size(), 8);
  append_little_endian(record, masked_crc(record), 4);
  record += event;
  append_little_endian(record, masked_crc(event), 4);
}

} // namespace

// Reuses its buffers from event to event.
struct Tensorboard::Open {
  Clock& clock;
  std::unique_ptr<LogFile> file;
  tensorboard::Event event;
  std::string bytes;
  std::string record;

  tensorboard::Value& add_value(std::string_view prefix, std::string_view name) {
    auto& value = *event.mutable_summary()->add_value();
    std::string& tag = *value.mutable_tag();
    tag.assign(prefix);
    if (!prefix.empty()) tag += '/';
    tag += name;
    return value;
  }

  static constexpr std::size_t spare = 64;

  Status write(std::uint64_t step) {
    event.set_wall_time(clock.wall_seconds());
    event.set_step(static_cast<std::int64_t>(step));
    // Events differ in size: a zero takes no bytes, a later step takes more. Room for the largest is made at once.
    if (const std::size_t size = event.ByteSizeLong(); bytes.capacity() < size) {
      bytes.reserve(2 * size + spare);
      record.reserve(2 * size + 2 * spare); // with its frame
    }
    if (!event.SerializeToString(&bytes)) return Status::internal("a TensorBoard event cannot be written as bytes");
    frame(record, bytes);
    return file->append(record);
  }
};

const bool Tensorboard::built = true;

Tensorboard::Tensorboard(std::unique_ptr<Open> open) : open_(std::move(open)) {}
Tensorboard::~Tensorboard() = default;

Result<std::unique_ptr<Tensorboard>> Tensorboard::open(Host& host, const std::string& folder,
                                                       std::uint64_t resumed_from) {
  // TensorBoard reads all files of a folder with "tfevents" in the name, sorted by name.
  const auto seconds = static_cast<std::int64_t>(host.clock().wall_seconds());
  std::string path;
  for (int number = 0; path.empty() || host.disk().exists(path); ++number)
    path = fmt::format("{}/events.out.tfevents.{:010}.dlhost.{}", folder, seconds, number);
  DLHOST_ASSIGN(auto file, host.disk().open_log(path));
  auto open = std::make_unique<Open>(Open{host.clock(), std::move(file), {}, {}, {}});
  open->event.set_file_version("brain.Event:2");
  DLHOST_TRY(open->write(0));
  if (resumed_from > 0) {
    open->event.mutable_session_log()->set_status(tensorboard::SessionLog::START);
    DLHOST_TRY(open->write(resumed_from + 1)); // the first step that no longer counts
  }
  open->event.mutable_summary();
  return std::unique_ptr<Tensorboard>(new Tensorboard(std::move(open)));
}

void Tensorboard::add(std::string_view prefix, std::string_view name, double value) {
  open_->add_value(prefix, name).set_simple_value(static_cast<float>(value));
}

void Tensorboard::add_text(std::string_view prefix, std::string_view name, std::string markdown) {
  constexpr int strings = 7;
  auto& text = open_->add_value(prefix, name);
  text.mutable_tensor()->set_dtype(strings);
  text.mutable_tensor()->add_string_val(std::move(markdown));
  text.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
}

Status Tensorboard::write(std::uint64_t step) {
  Status status = open_->write(step);
  open_->event.mutable_summary()->clear_value();
  return status;
}

} // namespace dlhost::record
