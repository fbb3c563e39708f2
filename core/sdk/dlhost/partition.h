// Partition: how a layer is cut into pieces, what its pieces exchange while they compute, and the factors that are sent
// instead of a param gradient. Include it only in a layer that declares Setup::splits or Setup::factors, calls
// Prepare::piece() or uses Frame::peers. All other layers are whole, or are cut along the batch, which needs no
// declaration.
//
//   setup           declares one Split for each axis along which the layer can be cut, and one Factors for each product
//   core            chooses a split and cuts the axis: each worker makes a layer object of its own for its Piece
//   prepare         Prepare::piece() says which part this object computes; shapes are those of the part
//   compute_*       works on the part; the pieces of a collective split call Frame::peers
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dlhost/status.h>
#include <dlhost/visibility.h>

namespace dlhost {

class Stream;

// How one output axis can be cut, and what each piece then needs. Declared in setup, in Setup::splits.
// Requires: the pieces' results, put together (or summed, where the split says so), are the whole layer's results, for
// any sizes of the pieces. `dlhost conform` compares them.
struct Split {
  enum class Need : std::uint8_t {
    whole,   // all of it
    same,    // the piece along `axis`
    halo,    // the piece along `axis`, widened by `low` and `high` elements
    partial, // the pieces' outputs must be summed
  };
  struct Operand {
    Need need = Need::whole;
    std::size_t axis = 0;
    std::int64_t low = 0, high = 0;
  };
  std::size_t output = 0; // the output that is cut
  std::size_t axis = 0;   // of that output
  std::vector<Operand> inputs, params;
  bool sums_outputs = false; // every piece computes a summand of the whole output instead of a part
  bool collective = false;   // the pieces compute at the same time and call Frame::peers
};

// The part of a layer under a partition. Pieces of one split may have different sizes.
struct Piece {
  std::size_t split = 0;            // index into Setup::splits
  std::int64_t first = 0, last = 0; // its elements of the cut axis: [first, last)
};

// A param gradient that is a product: dw[u, ...] is the sum over rows n of dy[n, u] x[n, ...]. Or one for the rows of a
// table: dw[x[n]] is the sum over all n of dy[n]. Declared in setup, in Setup::factors. Core may send both factors
// instead of the gradient, and multiply later. Core then does not ask for the gradient: Prepare::wants_param_gradient
// is false.
// Requires: dy is the gradient that the layer gets. So a layer that takes gradients from behind an epilogue
// (Prepare::takes_epilogue_gradient) declares no factors.
struct Factors {
  std::size_t param = 0;
  std::size_t output = 0; // whose gradient is dy
  std::size_t input = 0;  // x
  bool of_rows = false;   // x holds indices of the param's rows
};

// Peers: workers on devices of one kind that sum values in device memory among themselves. The workers that hold the
// pieces of a layer are peers (Frame::peers). So are workers whose params stay on their devices (Device::join).
//
// Calls are collective: every peer makes the same ones, with the same counts, in the same order. They are queued on the
// stream like ops: the host does not wait, and errors come back from Stream::wait. All values are plain f32 in the
// device's memory; all peers get the same bits.
class DLHOST_API Peers {
 public:
  struct Row {
    void* values = nullptr;
    std::int64_t count = 0;
  };
  virtual ~Peers();
  virtual int rank() const = 0;
  virtual int count() const = 0;
  virtual void sum(Stream&, void* values, std::int64_t count) = 0;
  virtual void maximum(Stream&, void* values, std::int64_t count) = 0;
  // Sums several rows at once, which is faster than one by one. Default: one by one.
  virtual void sum_rows(Stream&, std::span<const Row>);
  // Whether all peers are connected and earlier calls are queued on their stream. Ask until true before making more
  // calls and before giving the stream other work. Default: true.
  virtual Result<bool> ready();
  // A peer is gone: calls that wait for it end with arbitrary values. No sums afterwards. Default: does nothing.
  virtual void abandon() noexcept;
};

} // namespace dlhost
