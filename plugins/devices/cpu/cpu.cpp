// The cpu device: prepared ops on oneDNN, and own kernels where those are better.
//
// Streams are synchronous; threads are OpenMP's, as many as the calling worker has. oneDNN uses libgomp, whose threads
// spin for a while after each parallel region. That is good for a worker with its own cores; otherwise set
// OMP_WAIT_POLICY=passive.
#include "cpu.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sys/mman.h>

#include <dlhost/parallel.h>
#include <dlhost/plugin.h>

#include "blocks.h"
#include "formats.h"
#include "isa.h"
#include "prepare.h"
#include "primitive.h"

namespace dlhost::plugins::cpu {
namespace {

class DoneEvent final : public Event {};

std::string processor() {
#if defined(__x86_64__)
  unsigned words[12] = {};
  if (__get_cpuid_max(0x80000000U, nullptr) >= 0x80000004U) {
    for (unsigned i = 0; i < 3; ++i)
      __get_cpuid(0x80000002U + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]);
    std::string name(sizeof words, '\0');
    std::memcpy(name.data(), words, sizeof words);
    name.resize(std::strlen(name.c_str()));
    name.erase(0, name.find_first_not_of(' '));
    while (!name.empty() && name.back() == ' ') name.pop_back();
    if (!name.empty()) return name;
  }
#endif
  return "CPU";
}

DType dtype_of(const OpSpec& spec) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.x.dtype; }) return one.x.dtype;
        return DType::f32;
      },
      spec);
}

} // namespace

Cpu::Cpu(Options options) : options_(options), held_(hold_to(options.isa)) {}

Schema Cpu::schema() {
  return SchemaOf<Options>("The processor: ops on oneDNN and vector kernels.")
      .option("threads", &Options::threads, "threads of each op; 0: as many as the worker has", between(0, 4096))
      .choice("isa", &Options::isa, instruction_sets(), "the best instruction set that the process may use");
}

Device::Traits Cpu::traits() const { return {.host_memory = true, .asynchronous = false, .alignment = 64}; }

std::string Cpu::description() const {
  return concat(processor(), ", ", instruction_set(), ", ", threads(), " threads",
                multiplies_in(DType::bf16) ? "" : ", no bf16");
}

int Cpu::threads() const { return options_.threads > 0 ? static_cast<int>(options_.threads) : parallel_threads(); }

Result<void*> Cpu::allocate(std::size_t bytes) {
  // Large allocations start on huge pages and ask for those that they fill completely: partly filled ones would add up
  // over hundreds of params.
  constexpr std::size_t huge = std::size_t{2} << 20;
  const std::size_t alignment = bytes >= huge ? huge : 64;
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* data = std::aligned_alloc(alignment, rounded);
  if (!data) return Status::no_space("cpu: no memory for ", bytes, " bytes");
#ifdef MADV_HUGEPAGE
  if (alignment == huge) madvise(data, bytes / huge * huge, MADV_HUGEPAGE); // without huge pages it works as well
#endif
  return data;
}

void Cpu::release(void* data) noexcept { std::free(data); }

Result<std::unique_ptr<Stream>> Cpu::stream() {
  DLHOST_TRY(held_);
  return std::unique_ptr<Stream>(std::make_unique<CpuStream>());
}

Result<std::unique_ptr<Event>> Cpu::event() { return std::unique_ptr<Event>(std::make_unique<DoneEvent>()); }

Status Cpu::copy(Stream&, void* dst, const void* src, std::size_t bytes, Direction) {
  copy_bytes(dst, src, bytes);
  return {};
}

Status Cpu::fill_zero(Stream&, void* dst, std::size_t bytes) {
  constexpr std::int64_t grain = 1 << 18;
  parallel_ranges(static_cast<std::int64_t>(bytes), grain, [&](std::int64_t first, std::int64_t last) {
    std::memset(static_cast<std::byte*>(dst) + first, 0, static_cast<std::size_t>(last - first));
  });
  return {};
}

std::size_t Cpu::bytes(const TensorDesc& desc) const { return bytes_of(desc); }

std::int64_t Cpu::rows_together(const TensorDesc& desc) const { return cpu::rows_together(desc); }

std::string Cpu::format_name(const TensorDesc& desc) const { return name_of_format(desc); }

Result<Format> Cpu::format_named(const TensorDesc& plain, const std::string& wanted) {
  return find_format(plain, wanted);
}

Result<std::unique_ptr<Op>> Cpu::prepare(const OpSpec& spec, const Choice& choice) {
  const Request request{choice, choice.threads > 0 ? choice.threads : threads()};
  const ThreadScope scope(request.threads);
  try {
    const PrepareOne prepare_one = [](const OpSpec& of, const Request& how) {
      return std::visit([&](const auto& one) { return cpu::prepare(one, how); }, of);
    };
    const bool in_blocks = choice.block_samples > 0 && depends_on_batch(spec);
    auto op = in_blocks ? prepare_in_blocks(spec, request, prepare_one) : prepare_one(spec, request);
    if (op && !choice.kernel.empty() && (*op)->kernel != choice.kernel)
      return Status::unsupported("the plan was made with kernel '", choice.kernel, "', but here it is '", (*op)->kernel,
                                 "': plan again");
    if (op && (*op)->remark.empty() && (*op)->kernel.starts_with("ref"))
      (*op)->remark = concat("slow: oneDNN has only plain loops for this shape, dtype or layout on this processor (",
                             instruction_set(), ")");
    return op;
  } catch (const dnnl::error& error) {
    if (const DType type = dtype_of(spec); !multiplies_in(type))
      return Status::unsupported("cpu: no ", name_of(spec), " in ", name_of(type), ": that needs ",
                                 set_that_multiplies_in(type), ", and this processor has ", instruction_set(),
                                 "; take dtype = ", multiplies_in(DType::bf16) ? "\"bf16\"" : "\"f32\"");
    return Status::unsupported("cpu: oneDNN has no ", name_of(spec), " for this: ", error.what());
  }
}

} // namespace dlhost::plugins::cpu
