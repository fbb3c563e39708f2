#include "isa.h"

#include <algorithm>
#include <mutex>

#include <hwy/targets.h>

namespace dlhost::plugins::cpu {
namespace {

using dnnl::cpu_isa;

struct Set {
  cpu_isa isa;
  std::string_view option, title;
};

constexpr Set sets[] = {
    {cpu_isa::sse41, "sse41", "SSE4.1"},
    {cpu_isa::avx, "avx", "AVX"},
    {cpu_isa::avx2, "avx2", "AVX2"},
    {cpu_isa::avx2_vnni, "avx2_vnni", "AVX2 VNNI"},
    {cpu_isa::avx2_vnni_2, "avx2_vnni_2", "AVX2 VNNI 2"},
    {cpu_isa::avx512_core, "avx512_core", "AVX-512"},
    {cpu_isa::avx512_core_vnni, "avx512_core_vnni", "AVX-512 VNNI"},
    {cpu_isa::avx512_core_bf16, "avx512_core_bf16", "AVX-512 BF16"},
    {cpu_isa::avx512_core_fp16, "avx512_core_fp16", "AVX-512 FP16"},
    {cpu_isa::avx512_core_amx, "avx512_core_amx", "AMX"},
    {cpu_isa::avx512_core_amx_fp16, "avx512_core_amx_fp16", "AMX FP16"},
};

// oneDNN's sets are bit masks: a set has all bits of the sets that it includes.
bool includes(cpu_isa set, cpu_isa other) {
  const auto bits = static_cast<unsigned>(other);
  return (static_cast<unsigned>(set) & bits) == bits;
}

std::string_view title_of(cpu_isa isa) {
  const auto* found = std::ranges::find(sets, isa, &Set::isa);
  return found == std::end(sets) ? "no known vector instructions" : found->title;
}

cpu_isa least_for(DType type) { return type == DType::f16 ? cpu_isa::avx512_core_fp16 : cpu_isa::avx512_core; }

// Highway's kernels are compiled for fewer sets: keeps those that `isa` includes.
void hold_highway_to(cpu_isa isa) {
#if HWY_ARCH_X86
  const std::int64_t best = includes(isa, cpu_isa::avx512_core) ? HWY_AVX3_DL
                            : includes(isa, cpu_isa::avx2)      ? HWY_AVX2
                                                                : HWY_SSE4;
  hwy::DisableTargets(best - 1); // better targets are lower bits
#else
  (void)isa;
#endif
}

} // namespace

std::vector<std::pair<std::string, cpu_isa>> instruction_sets() {
  std::vector<std::pair<std::string, cpu_isa>> words{{"best", cpu_isa::isa_default}};
  for (const Set& set : sets) words.emplace_back(set.option, set.isa);
  return words;
}

Status hold_to(cpu_isa wanted) {
  static std::mutex guard; // the limit applies to the process, not to a device
  const std::scoped_lock lock(guard);
  const bool held = wanted != cpu_isa::isa_default && dnnl::set_max_cpu_isa(wanted) == dnnl::status::success;
  const auto effective = dnnl::get_effective_cpu_isa();
  if (wanted != cpu_isa::isa_default && wanted != effective) {
    if (held)
      return Status::unsupported("isa: this processor has no ", title_of(wanted), "; its best set is ",
                                 title_of(effective));
    return Status::invalid("isa: this process computes with ", title_of(effective),
                           " already; the first cpu device of a process sets it");
  }
  hold_highway_to(effective);
  return {};
}

std::string_view instruction_set() { return title_of(dnnl::get_effective_cpu_isa()); }

bool multiplies_in(DType type) {
  if (type != DType::bf16 && type != DType::f16) return true;
  return includes(dnnl::get_effective_cpu_isa(), least_for(type));
}

std::string_view set_that_multiplies_in(DType type) { return title_of(least_for(type)); }

} // namespace dlhost::plugins::cpu
