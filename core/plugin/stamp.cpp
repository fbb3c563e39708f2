#include "plugin/stamp.h"

#include <algorithm>
#include <cstring>

#include "plugin/cpu.h"
#include "plugin/elf.h"

namespace dlhost::plugin {

namespace {

// A stamp's text up to its first zero byte, with unprintable characters replaced.
template <std::size_t N> std::string text_of(const std::array<char, N>& field) {
  std::string text(field.data(), strnlen(field.data(), N));
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

Result<std::vector<Product>> products_in(std::string_view provides) {
  std::vector<Product> products;
  while (!provides.empty()) {
    const auto end = std::min(provides.find(' '), provides.size());
    const auto word = provides.substr(0, end);
    provides.remove_prefix(std::min(end + 1, provides.size()));
    if (word.empty()) continue;
    const auto colon = word.find(':');
    if (colon == std::string_view::npos || colon + 1 == word.size())
      return Status::corrupt("its plugin stamp lists '", word, "', which is not KIND:NAME: build it again");
    // An unknown kind is no error here: the epoch decides whether plugin and host fit.
    if (const auto kind = kind_named(word.substr(0, colon)))
      products.push_back({*kind, std::string(word.substr(colon + 1))});
  }
  return products;
}

constexpr struct {
  StampIsa isa;
  std::string_view name;
} isa_table[] = {
    {isa_sse3, "SSE3"},
    {isa_ssse3, "SSSE3"},
    {isa_sse41, "SSE4.1"},
    {isa_sse42, "SSE4.2"},
    {isa_popcnt, "POPCNT"},
    {isa_movbe, "MOVBE"},
    {isa_lzcnt, "LZCNT"},
    {isa_bmi, "BMI"},
    {isa_bmi2, "BMI2"},
    {isa_avx, "AVX"},
    {isa_f16c, "F16C"},
    {isa_fma, "FMA"},
    {isa_avx2, "AVX2"},
    {isa_avx512f, "AVX512F"},
    {isa_avx512bw, "AVX512BW"},
    {isa_avx512dq, "AVX512DQ"},
    {isa_avx512vl, "AVX512VL"},
    {isa_avx512_bf16, "AVX512-BF16"},
    {isa_avx512_fp16, "AVX512-FP16"},
    {isa_amx, "AMX"},
    {isa_arm_sve, "SVE"},
    {isa_arm_bf16, "BF16"},
};

// A difference in one of these flags changes the layout of shared types.
constexpr struct {
  StampFlag flag;
  std::string_view plugin_only; // the message if only the plugin has it
  std::string_view host_only;
} flag_table[] = {
    {stamp_cxx11_strings,
     "it was built with the new strings of libstdc++ (_GLIBCXX_USE_CXX11_ABI=1), this dlhost with the old ones: build "
     "it "
     "with -D_GLIBCXX_USE_CXX11_ABI=0",
     "it was built with the old strings of libstdc++ (_GLIBCXX_USE_CXX11_ABI=0), this dlhost with the new ones: remove "
     "-D_GLIBCXX_USE_CXX11_ABI=0 from its flags and build it again"},
    {stamp_glibcxx_debug,
     "it was built with _GLIBCXX_DEBUG, which changes the layout of containers, and this dlhost was not: remove "
     "-D_GLIBCXX_DEBUG from its flags (_GLIBCXX_ASSERTIONS is harmless) and build it again",
     "this dlhost was built with _GLIBCXX_DEBUG, which changes the layout of containers, and the plugin was not: build "
     "it with -D_GLIBCXX_DEBUG"},
    {stamp_libcxx, "it was built with LLVM's libc++, this dlhost with GNU's libstdc++: build it with -stdlib=libstdc++",
     "it was built with GNU's libstdc++, this dlhost with LLVM's libc++: build it with -stdlib=libc++"},
};

constexpr struct {
  StampFlag flag;
  std::string_view name, option;
} sanitizer_table[] = {
    {stamp_address_sanitizer, "AddressSanitizer", "address"},
    {stamp_thread_sanitizer, "ThreadSanitizer", "thread"},
    {stamp_undefined_sanitizer, "UndefinedBehaviorSanitizer", "undefined"},
};

void judge_sanitizer(std::string_view name, std::string_view option, Verdict& verdict) {
  verdict.problems.push_back(concat("it was built with ", name,
                                    " and this dlhost was not: build it without -fsanitize=", option,
                                    ", or use a dlhost that was built with it (./dev sanitize)"));
}

void judge_epoch(const FileStamp& file, const HostTraits& host, Verdict& verdict) {
  if (file.raw.epoch == host.stamp.epoch) return;
  const bool older = file.raw.epoch < host.stamp.epoch;
  verdict.problems.push_back(
      concat("it was built for epoch ", file.raw.epoch, " of the SDK, this dlhost has epoch ", host.stamp.epoch,
             older ? ": build it again with this dlhost's headers (pkg-config --cflags dlhost)"
                   : ": it needs a newer dlhost; install that, or build the plugin with this one's headers"));
}

void judge_machine(const FileStamp& file, const HostTraits& host, Verdict& verdict) {
  const auto own = text_of(host.stamp.arch), stamped = text_of(file.raw.arch);
  const auto& theirs = file.machine != own ? file.machine : stamped;
  if (theirs != own)
    verdict.problems.push_back(concat("it was built for ", theirs, ", this machine is ", own,
                                      ": build it here, or with a compiler for ", own));
}

void judge_isa(const FileStamp& file, const HostTraits& host, Verdict& verdict) {
  if (const std::uint64_t missing = file.raw.isa & ~host.isa)
    verdict.problems.push_back(concat("it uses instructions that this CPU lacks (", isa_names(missing),
                                      "): build it without -march=native or the like; faster kernels belong behind a "
                                      "look at the CPU at run time"));
}

void judge_compiler(const FileStamp& file, const HostTraits& host, Verdict& verdict) {
  const auto major = [](const std::string& compiler) { return compiler.substr(0, compiler.find('.')); };
  const auto own = text_of(host.stamp.compiler);
  if (major(file.compiler) != major(own))
    verdict.warnings.push_back(
        concat("it was built by ", file.compiler, ", this dlhost by ", own, ": mostly they fit; if not, use the same"));
}

} // namespace

std::string isa_names(std::uint64_t isa) {
  std::string names;
  for (const auto& row : isa_table)
    if (isa & row.isa) names += concat(names.empty() ? "" : ", ", row.name);
  return names;
}

Result<FileStamp> read_stamp(std::span<const std::byte> bytes) {
  DLHOST_ASSIGN(const ElfNotes notes, read_notes(bytes));
  if (notes.stamp.empty())
    return Status::corrupt(
        "it is a shared library, but not a dlhost plugin: it has no stamp (.note.dlhost). One source "
        "file of the library itself must have DLHOST_PLUGIN(\"1.0\", Class)");
  FileStamp file;
  if (notes.stamp.size() < sizeof(Stamp))
    return Status::corrupt("its plugin stamp has ", notes.stamp.size(), " bytes instead of ", sizeof(Stamp),
                           ": build it again with this dlhost's headers");
  std::memcpy(&file.raw, notes.stamp.data(), sizeof(Stamp));
  if (file.raw.magic != stamp_magic || file.raw.size < sizeof(Stamp))
    return Status::corrupt("its plugin stamp makes no sense (wrong magic or size): build it again");
  file.machine = notes.machine.empty() ? concat("machine ", notes.machine_number) : std::string(notes.machine);
  file.name = text_of(file.raw.name);
  file.version = text_of(file.raw.version);
  file.compiler = text_of(file.raw.compiler);
  DLHOST_ASSIGN(file.provides, products_in(text_of(file.raw.provides)));
  return file;
}

const HostTraits& this_host() {
  static const HostTraits host = [] {
    HostTraits traits;
    traits.stamp.size = sizeof(Stamp);
    traits.stamp.flags = dlhost::detail::stamp_flags();
    traits.stamp.isa = dlhost::detail::stamp_isa();
    dlhost::detail::stamp_append(traits.stamp.arch, dlhost::detail::stamp_arch());
    dlhost::detail::stamp_append(traits.stamp.compiler, dlhost::detail::stamp_compiler());
    traits.isa = cpu_isa();
    return traits;
  }();
  return host;
}

Verdict judge(const FileStamp& file, const HostTraits& host) {
  Verdict verdict;
  judge_epoch(file, host, verdict);
  judge_machine(file, host, verdict);
  const auto differ = file.raw.flags ^ host.stamp.flags;
  for (const auto& row : flag_table)
    if (differ & row.flag) verdict.problems.emplace_back(file.raw.flags & row.flag ? row.plugin_only : row.host_only);
  for (const auto& row : sanitizer_table) {
    if (!(differ & row.flag)) continue;
    if (file.raw.flags & row.flag)
      judge_sanitizer(row.name, row.option, verdict);
    else
      verdict.warnings.push_back(concat("it was built without ", row.name,
                                        ", which this dlhost has: its own faults stay "
                                        "unseen, and false ones may be reported"));
  }
  if (file.machine == text_of(host.stamp.arch)) judge_isa(file, host, verdict);
  judge_compiler(file, host, verdict);
  return verdict;
}

Verdict judge_symbols(std::span<const std::byte> bytes, const HostTraits& host) {
  Verdict verdict;
  const auto symbols = read_symbols(bytes);
  if (!symbols.ok()) return {{symbols.status().message()}, {}};
  if (!symbols->alias) {
    std::string libraries;
    for (auto library : symbols->needed) libraries += concat(libraries.empty() ? "" : ", ", library);
    const std::string elsewhere =
        libraries.empty() ? ""
                          : concat(" itself (one in a library that it links, such as ", libraries, ", does not count)");
    verdict.problems.push_back(concat("it does not define the alias '", alias_name, "'", elsewhere,
                                      ": DLHOST_PLUGIN must stand in its own sources"));
  }
  if (!symbols->unique.empty()) {
    std::string names;
    for (std::size_t i = 0; i < symbols->unique.size() && i < 3; ++i)
      names += concat(i ? ", " : "", symbols->unique[i]);
    verdict.problems.push_back(concat("it has ", symbols->unique.size(), " unique symbol(s) (", names,
                                      "), which two plugins with classes of one name would share: build it with "
                                      "-fno-gnu-unique -fvisibility=hidden (pkg-config --cflags dlhost)"));
  }
  // A sanitizer may be on without its flag in the stamp: not every compiler tells the source.
  for (const auto& row : sanitizer_table)
    if (!(host.stamp.flags & row.flag) && std::ranges::find(symbols->sanitizers, row.name) != symbols->sanitizers.end())
      judge_sanitizer(row.name, row.option, verdict);
  return verdict;
}

} // namespace dlhost::plugin
