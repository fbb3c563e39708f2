// Reads facts about a shared object without loading it: the plugin stamp's note, whether the file itself defines the
// alias, its unique symbols, and the sanitizer run-times that it needs. It follows the loader's way (program headers
// and the dynamic segment; section headers may be stripped) and trusts no byte: any input gives facts or an error.
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

// The views point into the bytes of the file.
struct ElfNotes {
  std::string_view machine;         // "x86_64"; empty for an unknown machine
  std::uint16_t machine_number = 0; // e_machine
  std::span<const std::byte> stamp; // the note's body; empty: no note
};

// Reads only the headers and the note.
Result<ElfNotes> read_notes(std::span<const std::byte> file);

struct ElfSymbols {
  bool alias = false;                       // the file defines dlhost_plugin itself
  std::vector<std::string_view> unique;     // STB_GNU_UNIQUE symbols defined here, outside std
  std::vector<std::string_view> sanitizers; // run-times that it calls: "AddressSanitizer", ...
  std::vector<std::string_view> needed;     // the libraries that it links
  std::string_view run_path;                // RUNPATH: where the loader looks for them first
};

// Walks the dynamic symbol table.
Result<ElfSymbols> read_symbols(std::span<const std::byte> file);

// Whether a mangled name belongs to the standard library, whose unique symbols may be shared.
bool is_standard(std::string_view mangled);

} // namespace dlhost::plugin
