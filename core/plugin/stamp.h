// The stamp of a plugin file, read without loading it, and whether this process can take the plugin. Everything that
// stands between them is said at once, each with its fix. Pure functions but for this_host(); any thread.
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

// What a file says about itself; texts are cut at their first 0 and hold printable characters only.
struct FileStamp {
  Stamp raw;
  std::string machine; // from the ELF header: "x86_64", or "machine 42"
  std::string name;
  std::string version;
  std::string compiler;
  std::vector<Product> provides;
};

// Reads the note of a shared object. Not ok: no ELF file, truncated, no plugin, or a stamp that does not hold together.
Result<FileStamp> read_stamp(std::span<const std::byte> file);

// What the process offers to plugins.
struct HostTraits {
  Stamp stamp;           // as this library was compiled
  std::uint64_t isa = 0; // what the CPU has, and the system lets use, of StampIsa
};
const HostTraits& this_host();

struct Verdict {
  std::vector<std::string> problems; // any: the plugin is refused
  std::vector<std::string> warnings;
};
Verdict judge(const FileStamp&, const HostTraits&);

// The second look, at the dynamic symbols, just before the file is loaded.
Verdict judge_symbols(std::span<const std::byte> file, const HostTraits&);

// "AVX2, FMA": the names of StampIsa bits.
std::string isa_names(std::uint64_t isa);

} // namespace dlhost::plugin
