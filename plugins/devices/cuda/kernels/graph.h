// A sequence of pieces that a device starts as one whole. A piece is the stream's work between begin() and end(), with
// its values at that time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <dlhost/status.h>

namespace dlhost::plugins::cuda {

class Graph {
 public:
  virtual ~Graph() = default;
  // Host memory from which pieces copy while running; lives as long as the graph. Call once, before begin().
  virtual Result<std::uint32_t*> room_for_samples(std::size_t count) = 0;
  // Waits until no launch reads that memory.
  virtual Status rest() = 0;

  // The stream captures its work from here on, without running it.
  virtual Status begin() = 0;
  // Ends the capture, whatever it returns. The captured work is the next piece; or, in a complete graph, the new piece
  // `which`. Errors: the graph must not be used any more.
  virtual Status end(std::size_t which) = 0;
  virtual Status complete() = 0;
  // Launches in the stream's order.
  virtual Status launch() = 0;
};

using MakeGraph = std::function<std::unique_ptr<Graph>()>;

} // namespace dlhost::plugins::cuda
