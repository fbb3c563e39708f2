#include "plugin/code.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <set>

#include <link.h>

namespace dlhost::plugin {
namespace {

// Filled from the front; entries never change, so that a signal handler can read the first `count`. Further files are
// left out.
struct Codes {
  std::array<Code, 1024> all;
  std::atomic<std::size_t> count{0};

  void add(const Code& code) {
    const std::size_t at = count.load();
    if (at == all.size()) return;
    all[at] = code;
    count.store(at + 1);
  }
  std::span<const Code> noted() const noexcept { return {all.data(), count.load()}; }
  const Code* at(const void* address) const noexcept {
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    for (const Code& code : noted())
      if (place >= code.begin && place < code.end) return &code;
    return nullptr;
  }
};
Codes of_plugins, of_host;
std::atomic<const Code*> loading{nullptr}; // anywhere: the code of the plugin that is being loaded

// One entry for each loading so far: a signal handler may still read that of one that has ended.
std::deque<Code>& loadings() {
  static auto& all = *new std::deque<Code>;
  return all;
}

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
  if (code.begin >= code.end || !known().insert(code.begin).second) return 0;
  if (!plugin) return of_host.add(code), 0;
  code.plugin = static_cast<const Actor*>(plugin);
  code.file = immortal(file->dlpi_name);
  of_plugins.add(code);
  return 0;
}

} // namespace

void begin_loading(const Actor* plugin) {
  dl_iterate_phdr(note, nullptr);
  const Code code{.begin = 0, .end = UINTPTR_MAX, .plugin = plugin, .file = plugin->path};
  loading = &loadings().emplace_back(code);
}

void end_loading() {
  const Actor* plugin = loading.load()->plugin;
  dl_iterate_phdr(note, const_cast<Actor*>(plugin));
  loading = nullptr;
}

std::span<const Code> code_of_plugins() noexcept { return of_plugins.noted(); }

const Code* code_at(const void* address) noexcept {
  const Code* found = of_plugins.at(address);
  return found || of_host.at(address) ? found : loading.load();
}

const void* first_of_plugins(std::span<void* const> frames) noexcept {
  for (const void* frame : frames)
    if (code_at(frame)) return frame;
  return nullptr;
}

} // namespace dlhost::plugin
