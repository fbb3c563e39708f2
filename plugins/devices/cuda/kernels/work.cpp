#include "work.h"

#include <atomic>
#include <utility>

#include "replay.h"

namespace dlhost::plugins::cuda {

WorkStream::WorkStream() = default;
WorkStream::~WorkStream() = default;

void WorkStream::begin_step() {
  if (replay_) replay_->begin_step();
}

void WorkStream::end_step() {
  if (replay_) replay_->end_step();
}

bool WorkStream::hold(KernelOp& op, const Call& call) { return replay_ && replay_->hold(op, call); }

Status WorkStream::move(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0 || (replay_ && replay_->hold_move(to, from, bytes))) return {};
  enter();
  return move_now(to, from, bytes);
}

void WorkStream::fail(Status status) {
  if (first_) first_ = std::move(status);
}

Status WorkStream::take_error() { return std::exchange(first_, {}); }

void WorkStream::replay(MakeGraph make_graph) { replay_ = std::make_unique<Replay>(*this, std::move(make_graph)); }

void WorkStream::replay_no_more() { replay_.reset(); }

void WorkStream::flush() {
  if (replay_) replay_->flush();
}

namespace {
std::atomic<std::uint64_t> last_number{0}; // 0: no op
}

KernelOp::KernelOp() : number_(++last_number) {}

} // namespace dlhost::plugins::cuda
