// A oneDNN primitive, made once and run often: its memory objects and argument list are made when it is prepared; a run
// sets their pointers and executes. Owned by one op.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include <dlhost/device.h>
#include <dlhost/host_op.h>

namespace dlhost::plugins::cpu {

// The process' oneDNN engine: stateless.
const dnnl::engine& engine();

// Synchronous: work is done when run() returns.
class CpuStream final : public Stream {
 public:
  CpuStream() : stream_(engine()) {}
  // The first error of any op since the last wait.
  Status wait() override { return std::exchange(failed_, {}); }
  Status record(Event&) override { return {}; }
  Status wait_for(Event&) override { return {}; }
  void submit(HostOp& op, const HostCall& call) override {
    if (Status done = op.compute(call); !done.ok()) fail(std::move(done).at(op.kernel));
  }
  dnnl_stream_t dnnl() const { return stream_.get(); }
  void fail(Status status) {
    if (failed_.ok()) failed_ = std::move(status);
  }

 private:
  Status failed_;
  dnnl::stream stream_;
};

// oneDNN fixes a primitive's threads when it is made; a run needs the same number.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
  bool changed_;
};

class Primitive {
 public:
  Primitive() = default;
  explicit Primitive(const dnnl::primitive& primitive) : primitive_(primitive) {}

  // Assigns the next pointer of run() to this argument.
  void add(int argument, const dnnl::memory::desc&);
  void run(Stream&, std::span<void* const> pointers);
  explicit operator bool() const { return static_cast<bool>(primitive_); }

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// An op made of one primitive.
class PrimitiveOp final : public Op {
 public:
  // The source of an argument's pointer. A null pointer of an optional input is passed on.
  enum class From : std::uint8_t { input, output, scratch };

  PrimitiveOp(const dnnl::primitive& primitive, int threads) : primitive_(primitive), threads_(threads) {}
  void add(int argument, const dnnl::memory::desc&, From, std::size_t which = 0, std::size_t byte_offset = 0);
  // The result starts as a copy of input `which` (the sum epilogue works in place).
  void start_from(std::size_t input, std::size_t bytes) {
    addend_ = static_cast<int>(input);
    addend_bytes_ = bytes;
  }
  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic&) override;

 private:
  struct Source {
    From from;
    std::size_t which;
    std::size_t offset;
  };
  Primitive primitive_;
  std::vector<Source> sources_;
  std::vector<void*> pointers_;
  int threads_;
  int addend_ = -1;
  std::size_t addend_bytes_ = 0;
};

// Such as "brgemm:avx512_core".
template <class Description> std::string kernel_of(const Description& description) {
  return description.impl_info_str();
}

// memcpy on the worker's threads.
void copy_bytes(void* dst, const void* src, std::size_t bytes);

} // namespace dlhost::plugins::cpu
