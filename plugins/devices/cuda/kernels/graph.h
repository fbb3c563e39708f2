// A row of pieces that a device starts as one whole. A piece is what the stream is given between begin() and end(),
// with the values that it has then.
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
  // Memory of the host, from which pieces copy while they run; as long as the graph lives. Once, before begin().
  virtual Result<std::uint32_t*> room_for_samples(std::size_t count) = 0;
  // Until no launch reads from there any more.
  virtual Status rest() = 0;

  // From here on the stream keeps what it is given, and runs none of it.
  virtual Status begin() = 0;
  // Of the stream's usual ways again, whatever is returned. What was kept is the next piece, or, of a graph that is
  // complete, piece `which` from now on. Not ok: the graph is to be used no more.
  virtual Status end(std::size_t which) = 0;
  virtual Status complete() = 0;
  // In the stream's turn.
  virtual Status launch() = 0;
};

using MakeGraph = std::function<std::unique_ptr<Graph>()>;

} // namespace dlhost::plugins::cuda
