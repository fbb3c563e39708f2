// Reads what the host wants to know of a shared object without loading it: the plugin stamp's note, whether the alias
// is defined in the file itself, unique symbols, and sanitizer run-times that it needs. It looks where the loader will
// look (program headers and the dynamic segment; section headers may be stripped) and trusts no byte: any input gives
// either facts or a reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::plugin {

inline constexpr std::string_view alias_name = "dlhost_plugin";

// The views point into the bytes that were read.
struct ElfNotes {
  std::string_view machine;         // "x86_64"; "machine 42" is empty here and a number below
  std::uint16_t machine_number = 0; // e_machine
  std::span<const std::byte> stamp; // the note's body; empty when there is none
};

// Costs a look at the headers and the note.
Result<ElfNotes> read_notes(std::span<const std::byte> file);

struct ElfSymbols {
  bool alias = false;                       // dlhost_plugin is defined here, and not weakly from elsewhere
  std::vector<std::string_view> unique;     // STB_GNU_UNIQUE, defined here, outside std
  std::vector<std::string_view> sanitizers; // "AddressSanitizer", ...: run-times that it calls
  std::vector<std::string_view> needed;     // the libraries that it links
  std::string_view run_path;                // where it looks for them first
};

// Costs a walk over the dynamic symbol table.
Result<ElfSymbols> read_symbols(std::span<const std::byte> file);

// Of a mangled name: whether it belongs to the standard library, whose unique symbols are meant to be shared.
bool is_standard(std::string_view mangled);

} // namespace dlhost::plugin
