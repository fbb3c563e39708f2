// Repeated steps, launched as one graph. Between begin_step and end_step a stream holds its work back. On flush the
// held calls are compared with earlier sequences:
//
//   first time             each call runs as without replay
//   second time            the calls are captured as a graph, which is launched
//   later                  the changed values of Dynamic are put into the graph, which is launched
//   a graph is refused     each call runs, from then on too
//
// A repeated sequence has the same ops and the same memory. So batches that alternate between two places make two
// graphs, and the parts before and after a wait are two as well. No CUDA header is needed here: the host test has its
// own graphs.
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
  // Fewer calls run as they are: where the host checks after each op, graphs gain nothing.
  static constexpr std::size_t least_calls = 4, most_calls = 512, most_sequences = 64;

  // Owns: neither; both must outlive it.
  Replay(WorkStream& stream, MakeGraph make_graph);

  void begin_step() { in_step_ = true; }
  void end_step();
  // False: not held; the caller runs it.
  bool hold(KernelOp&, const Call&);
  bool hold_move(void* to, const void* from, std::size_t bytes);
  // Starts all held work. No-op from within an op's own run.
  void flush();

 private:
  struct Sequence {
    HeldCalls calls; // of the last flush; with a graph, as the graph has them
    std::unique_ptr<Graph> graph;
    std::uint32_t* samples = nullptr; // the graph's
    bool refused = false;
    std::uint64_t launches = 0, made_anew = 0;
    std::uint64_t used = 0; // flush number of the last use
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
