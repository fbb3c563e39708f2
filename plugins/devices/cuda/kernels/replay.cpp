#include "replay.h"

#include <algorithm>
#include <utility>

namespace dlhost::plugins::cuda {

Replay::Replay(WorkStream& stream, MakeGraph make_graph) : stream_(stream), make_graph_(std::move(make_graph)) {
  sequences_.reserve(most_sequences);
}

void Replay::end_step() {
  in_step_ = false;
  flush();
}

bool Replay::hold(KernelOp& op, const Call& call) {
  if (!holds()) return false;
  held_.add(op, call);
  flush_when_full();
  return true;
}

bool Replay::hold_move(void* to, const void* from, std::size_t bytes) {
  if (!holds()) return false;
  held_.add_move(to, from, bytes);
  flush_when_full();
  return true;
}

// Limits the device's idle time and the memory of held calls.
void Replay::flush_when_full() {
  if (held_.size() >= most_calls) flush();
}

void Replay::flush() {
  if (running_ || held_.empty()) return;
  struct Running { // restored on exceptions too; calls held after the failed one are dropped
    Replay& replay;
    explicit Running(Replay& of) : replay(of) { replay.running_ = true; }
    ~Running() {
      replay.held_.clear();
      replay.running_ = false;
    }
  } const running(*this);
  stream_.enter();
  run_held();
}

void Replay::run_held() {
  if (held_.size() < least_calls) return run_one_by_one();
  Sequence* const known = seen();
  if (!known) {
    run_one_by_one();
    return remember();
  }
  known->used = ++flushes_;
  if (!known->refused) {
    Status status = replay(*known);
    if (status.ok()) return std::swap(known->calls, held_);
    known->refused = true;
    known->graph.reset();
    if (!std::exchange(said_, true)) stream_.refused(status);
  }
  run_one_by_one();
}

Replay::Sequence* Replay::seen() {
  const auto found = std::ranges::find_if(sequences_, [this](const Sequence& s) { return s.calls.same_work(held_); });
  return found == sequences_.end() ? nullptr : &*found;
}

// Replaces the least recently used sequence.
void Replay::remember() {
  if (sequences_.size() < most_sequences) sequences_.emplace_back();
  Sequence& place =
      sequences_.back().used == 0 ? sequences_.back() : *std::ranges::min_element(sequences_, {}, &Sequence::used);
  HeldCalls calls = std::exchange(place.calls, {});
  place = {.calls = std::exchange(held_, std::move(calls)), .used = ++flushes_};
}

// A graph that cannot take the changed values is rebuilt, unless rebuilds are so frequent that they gain nothing.
Status Replay::replay(Sequence& known) {
  constexpr std::uint64_t launches_each = 8;
  if (known.graph) {
    Status renewed = renew(known);
    if (renewed.ok()) return launch(known);
    if (++known.made_anew * launches_each > known.launches) return renewed;
  }
  DLHOST_TRY(make(known));
  return launch(known);
}

Status Replay::make(Sequence& known) {
  known.graph = make_graph_();
  DLHOST_ASSIGN(known.samples, known.graph->room_for_samples(held_.samples().size()));
  for (std::size_t which = 0; which < held_.size(); ++which) DLHOST_TRY(keep(known, which));
  DLHOST_TRY(known.graph->complete());
  stream_.kept(held_.size());
  return {};
}

// Errors: a newly captured call does not match the shape of the first capture.
Status Replay::renew(Sequence& known) {
  for (std::size_t which = 0; which < held_.size(); ++which)
    if (!held_.same_changing(known.calls, which)) DLHOST_TRY(keep(known, which));
  return {};
}

// Errors during capture make the graph fail; the calls then run one by one and report their own errors.
Status Replay::keep(Sequence& known, std::size_t which) {
  DLHOST_TRY(known.graph->begin());
  Status earlier = stream_.take_error();
  try {
    held_.run(stream_, which, known.samples);
  } catch (...) {
    known.graph->end(which).ignore("the exception says more");
    throw;
  }
  Status ended = known.graph->end(which);
  Status failed = stream_.take_error();
  if (!earlier.ok()) stream_.fail(std::move(earlier));
  return failed.ok() ? ended : failed;
}

Status Replay::launch(Sequence& known) {
  const auto samples = held_.samples();
  if (!std::equal(samples.begin(), samples.end(), known.samples)) {
    DLHOST_TRY(known.graph->rest());
    std::ranges::copy(samples, known.samples);
  }
  DLHOST_TRY(known.graph->launch());
  ++known.launches;
  if (const Op* last = held_.last_op()) stream_.launched(*last);
  return {};
}

void Replay::run_one_by_one() {
  for (std::size_t which = 0; which < held_.size(); ++which) held_.run(stream_, which, held_.samples().data());
}

} // namespace dlhost::plugins::cuda
