#include "primitive.h"

#include <cstring>
#include <stdexcept>

#include <dlhost/parallel.h>

namespace dlhost::plugins::cpu {

const dnnl::engine& engine() {
  static const dnnl::engine only(dnnl::engine::kind::cpu, 0);
  return only;
}

ThreadScope::ThreadScope(int threads) : before_(parallel_threads()), changed_(threads > 0 && threads != before_) {
  if (changed_) set_parallel_threads(threads);
}

ThreadScope::~ThreadScope() {
  if (changed_) set_parallel_threads(before_);
}

void Primitive::add(int argument, const dnnl::memory::desc& desc) {
  memories_.push_back(dnnl::memory(desc, engine(), DNNL_MEMORY_NONE));
  arguments_.push_back({argument, memories_.back().get()});
}

void Primitive::run(Stream& stream, std::span<void* const> pointers) {
  for (std::size_t i = 0; i < arguments_.size(); ++i) dnnl_memory_set_data_handle(arguments_[i].memory, pointers[i]);
  const auto status = dnnl_primitive_execute(primitive_.get(), static_cast<CpuStream&>(stream).dnnl(),
                                             static_cast<int>(arguments_.size()), arguments_.data());
  if (status != dnnl_success)
    throw std::runtime_error(concat("oneDNN failed to run a primitive, status ", int{status}));
}

void PrimitiveOp::add(int argument, const dnnl::memory::desc& desc, From from, std::size_t which, std::size_t offset) {
  primitive_.add(argument, desc);
  sources_.push_back({from, which, offset});
  pointers_.push_back(nullptr);
}

void PrimitiveOp::execute(Stream& stream, std::span<const void* const> inputs, std::span<void* const> outputs,
                          void* scratch, const Dynamic&) {
  const ThreadScope scope(threads_);
  if (addend_ >= 0 && inputs[static_cast<std::size_t>(addend_)] != outputs[0])
    copy_bytes(outputs[0], inputs[static_cast<std::size_t>(addend_)], addend_bytes_);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto& source = sources_[i];
    void* pointer = source.from == From::input    ? const_cast<void*>(inputs[source.which])
                    : source.from == From::output ? outputs[source.which]
                                                  : scratch;
    pointers_[i] = pointer ? static_cast<std::byte*>(pointer) + source.offset : nullptr;
  }
  primitive_.run(stream, pointers_);
}

void copy_bytes(void* dst, const void* src, std::size_t bytes) {
  constexpr std::int64_t grain = 1 << 16;
  parallel_ranges(static_cast<std::int64_t>(bytes), grain, [&](std::int64_t first, std::int64_t last) {
    std::memcpy(static_cast<std::byte*>(dst) + first, static_cast<const std::byte*>(src) + first,
                static_cast<std::size_t>(last - first));
  });
}

} // namespace dlhost::plugins::cpu
