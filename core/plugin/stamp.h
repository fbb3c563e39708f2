// The stamp of a plugin file, read without loading it, and whether this process can load the plugin. Reports all
// obstacles at once, each with its fix. Pure functions except this_host(). Thread: any.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/kind.h>
#include <dlhost/stamp.h>
#include <dlhost/status.h>

namespace dlhost::plugin {

struct Product {
  Kind kind;
  std::string name;
  auto operator<=>(const Product&) const = default;
};

// The contents of a file's stamp. Texts end at their first zero byte and hold printable characters only.
struct FileStamp {
  Stamp raw;
  std::string machine; // from the ELF header: "x86_64", or "machine 42"
  std::string name;
  std::string version;
  std::string compiler;
  std::vector<Product> provides;
};

// Reads the stamp from a shared object's note. Errors: not ELF, truncated, not a plugin, or an inconsistent stamp.
Result<FileStamp> read_stamp(std::span<const std::byte> file);

// The build and CPU of this process, which a stamp is checked against.
struct HostTraits {
  Stamp stamp;           // as this library was compiled
  std::uint64_t isa = 0; // bits of StampIsa that the CPU has and the system enables
};
const HostTraits& this_host();

struct Verdict {
  std::vector<std::string> problems; // if any: the plugin is refused
  std::vector<std::string> warnings;
};
Verdict judge(const FileStamp&, const HostTraits&);

// The second check, of the dynamic symbols, just before the file is loaded.
Verdict judge_symbols(std::span<const std::byte> file, const HostTraits&);

// "AVX2, FMA": the names of StampIsa bits.
std::string isa_names(std::uint64_t isa);

} // namespace dlhost::plugin
