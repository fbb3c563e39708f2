#include "plugin/fault_text.h"

#include <unistd.h>

#include "env/printable.h"
#include "plugin/code.h"

namespace dlhost::plugin {

FaultLine& FaultLine::operator<<(std::string_view part) {
  size_ += env::make_printable(part, {text_ + size_, sizeof text_ - 1 - size_}); // one byte stays for the line feed
  return *this;
}

FaultLine& FaultLine::operator<<(std::uint64_t number) {
  char digits[20];
  std::size_t at = sizeof digits;
  do {
    digits[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number);
  return *this << std::string_view(digits + at, sizeof digits - at);
}

FaultLine& FaultLine::hex(std::uint64_t number) {
  char digits[16];
  std::size_t at = sizeof digits;
  do {
    digits[--at] = "0123456789abcdef"[number % 16];
    number /= 16;
  } while (number);
  return *this << "0x" << std::string_view(digits + at, sizeof digits - at);
}

void FaultLine::write() {
  text_[size_] = '\n';
  for (std::size_t done = 0; done <= size_;) {
    const auto written = ::write(STDERR_FILENO, text_ + done, size_ + 1 - done);
    if (written <= 0) return;
    done += static_cast<std::size_t>(written);
  }
}

void put_plugin(FaultLine& line, const Actor& actor) {
  if (*actor.path)
    line << "plugin '" << actor.plugin << "' (" << actor.path << ")";
  else
    line << "dlhost's own '" << actor.plugin << "'";
}

void put_place(FaultLine& line, const Actor& actor, const char* phase, std::uint64_t step) {
  if (*actor.instance) line << actor.kind << " '" << actor.instance << "', ";
  line << (phase ? phase : "?");
  if (step != no_step) line << ", step " << step;
}

void put_loaded(FaultLine& line) {
  const Actor* before = nullptr;
  for (const Code& code : code_of_plugins()) {
    if (code.plugin == before) continue;
    line << (before ? ", " : "; loaded are: ");
    put_plugin(line, *code.plugin);
    before = code.plugin;
  }
}

Doing doing_of_thread(int thread) {
  Doing doing;
  std::uint64_t newest = 0;
  for (const auto& slot : detail::activity_slots) {
    const Doing here = read_slot(slot);
    const auto order = slot.order.load(std::memory_order_relaxed);
    if (slot.thread.load(std::memory_order_relaxed) != thread || !here.actor || order < newest) continue;
    newest = order;
    doing = here;
  }
  return doing;
}

void write_others(int except_thread) {
  for (const auto& slot : detail::activity_slots) {
    const int thread = slot.thread.load(std::memory_order_relaxed);
    const Doing doing = read_slot(slot);
    if (thread == 0 || thread == except_thread || !doing.actor) continue;
    FaultLine line;
    line << "at that time another task was in ";
    put_plugin(line, *doing.actor);
    line << ": ";
    put_place(line, *doing.actor, doing.phase, doing.step);
    line.write();
  }
}

void write_checkpoint(const char* path) {
  if (!path) return;
  FaultLine line;
  if (*path)
    line << "the last checkpoint, " << path << ", is whole: continue from it with --resume";
  else
    line << "no checkpoint had been written yet, so none is damaged";
  line.write();
}

} // namespace dlhost::plugin
