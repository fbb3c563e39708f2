// Steps that come again, started as one whole. Between begin_step and end_step a stream holds back what it is given;
// when that has to be begun, it is compared with what was held before:
//
//   seen for the first time       each call runs as it would have without all this
//   for the second                the calls are kept as a graph, which is launched
//   from then on                  what has changed in Dynamic is put into the graph, which is launched
//   whenever a graph is refused   each call runs; from then on too
//
// What is seen again has the same ops and the same memory, so that batches which lie in two places in turn are two
// graphs; the part before and the part behind a wait are two as well. No header of CUDA is wanted here: the test on the
// host has graphs of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "graph.h"
#include "held.h"

namespace dlhost::plugins::cuda {

class Replay {
 public:
  // Fewer calls are run as they are: where the host looks after each op, there is nothing to gain.
  static constexpr std::size_t least_calls = 4, most_calls = 512, most_sequences = 64;

  // Both outlive it.
  Replay(WorkStream& stream, MakeGraph make_graph);

  void begin_step() { in_step_ = true; }
  void end_step();
  // False: it is not held, and to be run by the caller.
  bool hold(KernelOp&, const Call&);
  bool hold_move(void* to, const void* from, std::size_t bytes);
  // Begins all that is held. From within an op's own run it does nothing.
  void flush();

 private:
  struct Sequence {
    HeldCalls calls; // as they were last; where there is a graph, as it has them
    std::unique_ptr<Graph> graph;
    std::uint32_t* samples = nullptr; // the graph's
    bool refused = false;
    std::uint64_t launches = 0, made_anew = 0;
    std::uint64_t used = 0; // the flush in which it was, the last time
  };
  bool holds() const { return in_step_ && !running_; }
  void flush_when_full();
  void run_held();
  Sequence* seen();
  void remember();
  Status replay(Sequence&);
  Status make(Sequence&);
  Status renew(Sequence&);
  Status keep(Sequence&, std::size_t which);
  Status launch(Sequence&);
  void run_one_by_one();

  WorkStream& stream_;
  MakeGraph make_graph_;
  HeldCalls held_;
  std::vector<Sequence> sequences_;
  std::uint64_t flushes_ = 0;
  bool in_step_ = false, running_ = false, said_ = false;
};

} // namespace dlhost::plugins::cuda
