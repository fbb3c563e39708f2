#include "plugin/elf.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <elf.h>

#include <dlhost/stamp.h>

namespace dlhost::plugin {

namespace {

using Bytes = std::span<const std::byte>;

// Every access goes through these two functions: they check bounds and assume no alignment.
template <class T> std::optional<T> value_at(Bytes bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::optional<Bytes> part_of(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  return bytes.subspan(offset, size);
}

std::string_view text_at(Bytes strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const auto* begin = reinterpret_cast<const char*>(strings.data()) + offset;
  return {begin, strnlen(begin, strings.size() - offset)};
}

std::string_view machine_named(std::uint16_t number) {
  switch (number) {
  case EM_X86_64: return "x86_64";
  case EM_AARCH64: return "aarch64";
  case EM_386: return "i386";
  case EM_ARM: return "arm";
  case EM_RISCV: return "riscv";
  case EM_PPC64: return "ppc64";
  case EM_S390: return "s390";
  default: return "";
  }
}

// The headers of a file, all of whose segments lie inside it.
struct Object {
  Bytes file;
  Elf64_Ehdr head{};
  std::vector<Elf64_Phdr> segments;

  // The file's bytes for a load address, to the end of its segment.
  std::optional<Bytes> at_address(std::uint64_t address) const {
    for (const auto& segment : segments)
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
        return part_of(file, segment.p_offset + (address - segment.p_vaddr),
                       segment.p_filesz - (address - segment.p_vaddr));
    return std::nullopt;
  }
};

Status truncated(Bytes file, std::string_view what, std::uint64_t end) {
  return Status::corrupt("the file is truncated: it has ", file.size(), " bytes, but its ", what, " ends at ", end,
                         "; copy or build it again");
}

Status check_identity(Bytes file) {
  if (file.size() < SELFMAG || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    return Status::corrupt("it is not a shared object (no ELF file); a plugin is a library built with -shared");
  const auto identity = value_at<std::array<unsigned char, EI_NIDENT>>(file, 0);
  if (!identity) return truncated(file, "ELF header", sizeof(Elf64_Ehdr));
  if ((*identity)[EI_CLASS] != ELFCLASS64)
    return Status::unsupported("it is a 32-bit library, this dlhost is a 64-bit program: build it for 64 bits");
  if ((*identity)[EI_DATA] != ELFDATA2LSB)
    return Status::unsupported(
        "its byte order is big-endian, this machine's is little-endian: build it for this machine");
  return {};
}

Result<Object> read_object(Bytes file) {
  DLHOST_TRY(check_identity(file));
  Object object{.file = file};
  const auto head = value_at<Elf64_Ehdr>(file, 0);
  if (!head) return truncated(file, "ELF header", sizeof(Elf64_Ehdr));
  object.head = *head;
  if (head->e_type != ET_DYN)
    return Status::corrupt("it is an ELF file, but no shared library (type ", head->e_type,
                           "): link it with -shared, as `dlhost new` shows");
  if (head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phnum == 0)
    return Status::corrupt("its ELF program headers make no sense: build it again");
  for (std::uint64_t i = 0; i < head->e_phnum; ++i) {
    const auto segment = value_at<Elf64_Phdr>(file, head->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return truncated(file, "program header table", head->e_phoff + head->e_phnum * sizeof(Elf64_Phdr));
    const bool in_file = segment->p_type == PT_LOAD || segment->p_type == PT_NOTE || segment->p_type == PT_DYNAMIC;
    if (in_file && !part_of(file, segment->p_offset, segment->p_filesz))
      return truncated(file, "segment", segment->p_offset + segment->p_filesz);
    object.segments.push_back(*segment);
  }
  const std::uint64_t sections = std::uint64_t{head->e_shnum} * head->e_shentsize;
  if (head->e_shoff != 0 && !part_of(file, head->e_shoff, sections))
    return truncated(file, "section header table", head->e_shoff + sections);
  return object;
}

// The body of dlhost's note; empty: none.
Bytes stamp_in(Bytes notes) {
  constexpr auto align4 = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  std::uint64_t offset = 0;
  while (const auto head = value_at<Elf64_Nhdr>(notes, offset)) {
    const std::uint64_t owner_at = offset + sizeof(Elf64_Nhdr);
    const std::uint64_t body_at = owner_at + align4(head->n_namesz);
    const auto owner = part_of(notes, owner_at, head->n_namesz);
    const auto body = part_of(notes, body_at, head->n_descsz);
    if (!owner || !body) return {};
    if (head->n_type == stamp_type && owner->size() == sizeof stamp_owner &&
        std::memcmp(owner->data(), stamp_owner, sizeof stamp_owner) == 0)
      return *body;
    offset = body_at + align4(head->n_descsz);
  }
  return {};
}

constexpr std::uint64_t no_text = ~std::uint64_t{0};

// The entries of the dynamic segment that lead to the symbols.
struct Dynamic {
  std::uint64_t symbols = 0, strings = 0, strings_size = 0, gnu_hash = 0, hash = 0, run_path = no_text;
  std::vector<std::uint64_t> needed; // offsets into the strings
};

Dynamic read_dynamic(const Object& object) {
  Dynamic dynamic;
  for (const auto& segment : object.segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.p_filesz; at += sizeof(Elf64_Dyn)) {
      const auto entry = value_at<Elf64_Dyn>(object.file, segment.p_offset + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      switch (entry->d_tag) {
      case DT_SYMTAB: dynamic.symbols = entry->d_un.d_ptr; break;
      case DT_STRTAB: dynamic.strings = entry->d_un.d_ptr; break;
      case DT_STRSZ: dynamic.strings_size = entry->d_un.d_val; break;
      case DT_GNU_HASH: dynamic.gnu_hash = entry->d_un.d_ptr; break;
      case DT_HASH: dynamic.hash = entry->d_un.d_ptr; break;
      case DT_RPATH:
      case DT_RUNPATH: dynamic.run_path = entry->d_un.d_val; break;
      case DT_NEEDED: dynamic.needed.push_back(entry->d_un.d_val); break;
      default: break;
      }
    }
  }
  return dynamic;
}

// The symbol table does not store its length; the hash tables do. In the GNU one it is the end of the last chain.
std::uint64_t count_in_gnu_hash(Bytes table) {
  struct Head {
    std::uint32_t buckets, first, bloom_words, bloom_shift;
  };
  const auto head = value_at<Head>(table, 0);
  if (!head) return 0;
  const std::uint64_t buckets_at = sizeof(Head) + std::uint64_t{head->bloom_words} * 8;
  const std::uint64_t chains_at = buckets_at + std::uint64_t{head->buckets} * 4;
  std::uint32_t last = 0;
  for (std::uint64_t i = 0; i < head->buckets; ++i) {
    const auto bucket = value_at<std::uint32_t>(table, buckets_at + i * 4);
    if (!bucket) return 0;
    last = std::max(last, *bucket);
  }
  if (last < head->first) return head->first;
  for (std::uint64_t symbol = last;; ++symbol) {
    const auto link = value_at<std::uint32_t>(table, chains_at + (symbol - head->first) * 4);
    if (!link) return 0;
    if (*link & 1) return symbol + 1;
  }
}

std::uint64_t count_symbols(const Object& object, const Dynamic& dynamic) {
  if (dynamic.gnu_hash)
    if (const auto table = object.at_address(dynamic.gnu_hash)) return count_in_gnu_hash(*table);
  if (dynamic.hash)
    if (const auto table = object.at_address(dynamic.hash)) return value_at<std::uint32_t>(*table, 4).value_or(0);
  return 0;
}

std::string_view sanitizer_of(std::string_view symbol) {
  if (symbol.starts_with("__asan_init")) return "AddressSanitizer";
  if (symbol.starts_with("__tsan_init")) return "ThreadSanitizer";
  if (symbol.starts_with("__msan_init")) return "MemorySanitizer";
  if (symbol.starts_with("__ubsan_handle")) return "UndefinedBehaviorSanitizer";
  return {};
}

void take_symbol(ElfSymbols& found, const Elf64_Sym& symbol, std::string_view name) {
  const bool defined = symbol.st_shndx != SHN_UNDEF;
  if (defined && name == alias_name) found.alias = true;
  if (defined && ELF64_ST_BIND(symbol.st_info) == STB_GNU_UNIQUE && !is_standard(name)) found.unique.push_back(name);
  if (const auto sanitizer = sanitizer_of(name);
      !sanitizer.empty() && std::ranges::find(found.sanitizers, sanitizer) == found.sanitizers.end())
    found.sanitizers.push_back(sanitizer);
}

} // namespace

Result<ElfNotes> read_notes(Bytes file) {
  DLHOST_ASSIGN(const Object object, read_object(file));
  ElfNotes notes{.machine = machine_named(object.head.e_machine), .machine_number = object.head.e_machine};
  for (const auto& segment : object.segments)
    if (segment.p_type == PT_NOTE && notes.stamp.empty())
      notes.stamp = stamp_in(file.subspan(segment.p_offset, segment.p_filesz));
  return notes;
}

Result<ElfSymbols> read_symbols(Bytes file) {
  DLHOST_ASSIGN(const Object object, read_object(file));
  const Dynamic dynamic = read_dynamic(object);
  const auto symbols = object.at_address(dynamic.symbols);
  auto strings = object.at_address(dynamic.strings);
  const std::uint64_t count = count_symbols(object, dynamic);
  ElfSymbols found;
  if (!symbols || !strings || dynamic.strings_size > strings->size() || count > symbols->size() / sizeof(Elf64_Sym))
    return Status::corrupt("its table of dynamic symbols cannot be read: build it again");
  strings = strings->first(dynamic.strings_size);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto symbol = value_at<Elf64_Sym>(*symbols, i * sizeof(Elf64_Sym));
    take_symbol(found, *symbol, text_at(*strings, symbol->st_name));
  }
  found.run_path = text_at(*strings, dynamic.run_path);
  for (const auto offset : dynamic.needed) found.needed.push_back(text_at(*strings, offset));
  return found;
}

bool is_standard(std::string_view name) {
  const auto skip = [&name](std::string_view prefix) {
    if (!name.starts_with(prefix)) return false;
    name.remove_prefix(prefix.size());
    return true;
  };
  if (!skip("_Z")) return false;
  // The marks of guards, tables and local names precede their owner's name.
  if (!skip("GV")) {
    for (std::string_view table : {"TV", "TI", "TS", "TT"})
      if (skip(table)) break;
  }
  while (skip("Z")) {
  }
  if (skip("N"))
    while (skip("K") || skip("V") || skip("R") || skip("O")) {
    }
  for (std::string_view owner : {"St", "Sa", "Sb", "Ss", "Si", "So", "Sd", "9__gnu_cxx", "10__cxxabiv1"})
    if (name.starts_with(owner)) return true;
  return false;
}

} // namespace dlhost::plugin
