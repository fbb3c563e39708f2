#include "env/process/failure_note.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include <dlhost/status.h>

#include "env/printable.h"

namespace dlhost::env {
namespace {

struct Note {
  std::string path, unfinished, before, after;
};
std::atomic<const Note*> prepared{nullptr};

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(file, text.data(), text.size());
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// As the text of a JSON string: printable, quotes and backslashes escaped.
bool write_escaped(int file, std::string_view reason) {
  std::array<char, 4096> shown{};
  const std::string_view all(shown.data(), make_printable(reason, shown));
  for (const char letter : all) {
    const char as_it_is[] = {letter};
    const std::string_view text = letter == '\n'   ? "\\n"
                                  : letter == '\t' ? "\\t"
                                  : letter == '"'  ? "\\\""
                                  : letter == '\\' ? "\\\\"
                                                   : std::string_view(as_it_is, 1);
    if (!write_all(file, text)) return false;
  }
  return true;
}

} // namespace

void prepare_failure_note(const std::string& path, const std::string& before, const std::string& after) {
  // A handler may be reading an older one: none is freed before the process ends.
  static auto& guard = *new std::mutex;
  static auto& notes = *new std::vector<std::unique_ptr<Note>>;
  const std::scoped_lock lock(guard);
  if (path.empty()) {
    prepared = nullptr;
    return;
  }
  notes.push_back(std::make_unique<Note>(Note{path, path + ".failed", before, after}));
  prepared = notes.back().get();
}

void write_failure_note(std::string_view reason) noexcept {
  const Note* note = prepared.exchange(nullptr);
  if (!note) return;
  const int file = ::open(note->unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  const bool whole = write_all(file, note->before) && write_escaped(file, reason) && write_all(file, note->after) &&
                     ::fsync(file) == 0;
  ::close(file);
  if (whole)
    ::rename(note->unfinished.c_str(), note->path.c_str());
  else
    ::unlink(note->unfinished.c_str());
}

} // namespace dlhost::env
