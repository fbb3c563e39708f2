#include "stream.h"

#include <cstring>

namespace dlhost::plugins::ref {

namespace {

constexpr std::size_t longest = 64; // work items that may gather before some run
constexpr std::size_t usual = 32;   // operands of an op; more allocate once

} // namespace

RefStream::RefStream(const Pool& pool, std::mutex* late, Host* host, double rate)
    : pool_(pool), late_(late), host_(host), rate_(rate), self_(std::make_shared<RefStream*>(this)),
      ring_(late ? longest : 0) {
  for (auto& work : ring_) {
    work.in.reserve(usual);
    work.out.reserve(usual);
    work.scalars.reserve(usual);
  }
}

RefStream::~RefStream() {
  wait().ignore("a caller that needs the status has waited");
  *self_ = nullptr; // events of this stream have passed
}

Status RefStream::wait() {
  std::unique_lock<std::mutex> lock;
  if (late_) lock = std::unique_lock(*late_);
  work_until(given_);
  return std::exchange(first_error_, {});
}

void RefStream::catch_up() {
  if (!late_) return;
  const std::lock_guard lock(*late_);
  work_until(given_);
}

// Far: each call does one more piece of the work.
Result<bool> RefEvent::passed() { return !stream || !*stream || (*stream)->step_until(position); }

bool RefStream::step_until(std::uint64_t position) {
  if (!late_) return true;
  const std::lock_guard lock(*late_);
  if (done_ < position) work_until(done_ + 1);
  return done_ >= position;
}

Status RefStream::record(Event& event) {
  auto& mine = static_cast<RefEvent&>(event);
  std::unique_lock<std::mutex> lock;
  if (late_) lock = std::unique_lock(*late_);
  mine.stream = self_;
  mine.position = given_;
  return {};
}

Status RefStream::wait_for(Event& event) {
  auto& mine = static_cast<RefEvent&>(event);
  if (!late_) return {}; // earlier work is done
  const std::lock_guard lock(*late_);
  if (!mine.stream) return {};
  Work& work = next();
  work.what = Work::What::event;
  work.other = mine.stream;
  work.position = mine.position;
  return {};
}

void RefStream::submit(HostOp& op, const HostCall& call) {
  if (!late_) return run(op, call);
  const std::lock_guard lock(*late_);
  Work& work = next();
  work.what = Work::What::op;
  work.op = &op;
  work.in.assign(call.in.begin(), call.in.end());
  work.out.assign(call.out.begin(), call.out.end());
  work.scratch = call.scratch;
  work.scalars.assign(call.dynamic.scalars.begin(), call.dynamic.scalars.end());
  work.samples.assign(call.dynamic.samples.begin(), call.dynamic.samples.end());
  work.dynamic = call.dynamic;
  work.dynamic.scalars = work.scalars;
  work.dynamic.samples = work.samples;
}

void RefStream::copy(void* dst, const void* src, std::size_t bytes, Direction direction) {
  if (bytes == 0) return;
  if (!late_) {
    std::memmove(dst, src, bytes);
    return;
  }
  const std::lock_guard lock(*late_);
  void* to = direction == Direction::to_host ? dst : reach(dst);
  const void* from = direction == Direction::from_host ? src : reach(src);
  if (!to || !from) return;
  Work& work = next();
  work.what = Work::What::copy;
  work.dst = to;
  work.src = from;
  work.bytes = bytes;
}

void RefStream::zero(void* dst, std::size_t bytes) {
  if (bytes == 0) return;
  if (!late_) {
    std::memset(dst, 0, bytes);
    return;
  }
  const std::lock_guard lock(*late_);
  void* to = reach(dst);
  if (!to) return;
  Work& work = next();
  work.what = Work::What::zero;
  work.dst = to;
  work.bytes = bytes;
}

Work& RefStream::next() {
  if (given_ - done_ == longest) work_until(done_ + longest / 2);
  return ring_[given_++ % longest];
}

void RefStream::work_until(std::uint64_t position) {
  while (done_ < position) {
    Work& work = ring_[done_ % longest];
    perform(work);
    ++done_;
  }
}

void RefStream::perform(Work& work) {
  switch (work.what) {
  case Work::What::op:
    reach(work);
    if (first_error_) run(*work.op, {work.in, work.out, static_cast<std::byte*>(work.scratch), work.dynamic});
    return;
  case Work::What::copy: std::memmove(work.dst, work.src, work.bytes); return;
  case Work::What::zero: std::memset(work.dst, 0, work.bytes); return;
  case Work::What::event:
    if (*work.other) (*work.other)->work_until(work.position);
    work.other.reset();
    return;
  }
}

void RefStream::run(HostOp& op, const HostCall& call) {
  Status status = op.scratch_bytes > 0 && !call.scratch
                      ? Status::internal("needs ", op.scratch_bytes, " bytes of scratch, and was given none")
                      : op.compute(call);
  if (!status.ok()) fail(std::move(status).at("ref: ", op.kernel));
  if (host_ && rate_ > 0) host_->clock().sleep(static_cast<Nanoseconds>(op.operations / rate_));
}

void RefStream::fail(Status status) {
  if (first_error_) first_error_ = std::move(status);
}

void* RefStream::reach(const void* address) {
  void* real = pool_.real(address);
  if (!real) fail(Status::invalid("ref: an address outside of device memory was given where device memory is needed"));
  return real;
}

void RefStream::reach(Work& work) {
  for (auto& pointer : work.in)
    if (pointer) pointer = reach(pointer);
  for (auto& pointer : work.out)
    if (pointer) pointer = reach(pointer);
  if (work.scratch) work.scratch = reach(work.scratch);
}

} // namespace dlhost::plugins::ref
