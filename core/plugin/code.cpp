#include "plugin/code.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <set>

#include <link.h>

namespace dlhost::plugin {
namespace {

// Filled from the front; entries never change, so that a signal handler can read the first `count`. Further files stay
// unnamed.
std::array<Code, 1024> codes;
std::atomic<std::size_t> count{0};

// The load addresses of all files seen so far; plugins are never unloaded.
std::set<std::uintptr_t>& known() {
  static auto& all = *new std::set<std::uintptr_t>;
  return all;
}

Code code_of(const dl_phdr_info& file) {
  Code code{.begin = UINTPTR_MAX};
  for (int i = 0; i < file.dlpi_phnum; ++i) {
    const auto& segment = file.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = file.dlpi_addr + segment.p_vaddr;
    code.begin = std::min(code.begin, begin);
    code.end = std::max<std::uintptr_t>(code.end, begin + segment.p_memsz);
  }
  return code;
}

int note(dl_phdr_info* file, std::size_t, void* plugin) {
  Code code = code_of(*file);
  if (code.begin >= code.end || !known().insert(code.begin).second || !plugin) return 0;
  const std::size_t at = count.load();
  if (at == codes.size()) return 0;
  code.plugin = static_cast<const Actor*>(plugin);
  code.file = immortal(file->dlpi_name);
  codes[at] = code;
  count.store(at + 1);
  return 0;
}

} // namespace

void note_host_code() { dl_iterate_phdr(note, nullptr); }
void note_code_of(const Actor* plugin) { dl_iterate_phdr(note, const_cast<Actor*>(plugin)); }

std::span<const Code> code_of_plugins() noexcept { return {codes.data(), count.load()}; }

const Code* code_at(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Code& code : code_of_plugins())
    if (at >= code.begin && at < code.end) return &code;
  return nullptr;
}

const void* first_of_plugins(std::span<void* const> frames) noexcept {
  for (const void* frame : frames)
    if (code_at(frame)) return frame;
  return nullptr;
}

} // namespace dlhost::plugin
