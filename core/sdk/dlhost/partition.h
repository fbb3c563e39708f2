// Partition: how a layer is cut into pieces, what its pieces exchange while they compute, and the factors that are sent
// instead of a param gradient. Include it only in a layer that declares Setup::splits or Setup::factors, calls
// Prepare::piece() or uses Frame::peers. All other layers are whole, or are cut along the batch, which needs no
// declaration.
//
//   setup           declares one Split for each way in which the layer can be cut, and one Factors for each product
//   core            chooses splits and ranges: each worker makes a layer object of its own for its Piece
//   prepare         Prepare::piece() says which part this object computes; shapes are those of the part
//   compute_*       works on the part; the pieces of a collective split call Frame::peers
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dlhost/status.h>
#include <dlhost/visibility.h>

namespace dlhost {

class Setup;
class Stream;

// How the layer's work can be cut, and what each piece then reads, gives and owns. Declared in setup, in Setup::splits.
//
// A split counts units: rows, filters, heads, groups, classes. A piece is a range [first, last) of them. Each operand
// says which of its elements belong to a range of units.
//
// Requires: the pieces' outputs and gradients, put together as the operands say, are those of the whole layer, for any
// ranges. `dlhost conform` compares them. The gradient of an operand that several pieces read is the sum of theirs.
struct Split {
  enum class Need : std::uint8_t {
    whole,  // all of it. An output: each piece makes all of it
    same,   // the elements [first * each, last * each) of the axis
    window, // inputs: the elements [first * step - low, (last - 1) * step + high + 1) of the axis that exist
    once,   // params: the first piece has it, the others get a shape without elements (a bias that is added once)
    sum,    // outputs: each piece makes a summand of all of it
  };
  struct Range {
    std::int64_t first = 0, last = 0; // [first, last)
  };
  struct DLHOST_API Operand {
    Need need = Need::whole;
    std::size_t axis = 0;
    std::int64_t each = 1;                    // elements of a unit
    std::int64_t step = 1, low = 0, high = 0; // of a window
    // The elements of the axis, which has `length`, that belong to the units. Requires: `same` or `window`, and units.
    Range elements(Range units, std::int64_t length) const;
  };
  std::string name;                             // as jobs write it: "features", "height", "heads"
  std::int64_t length = 0;                      // units
  std::vector<Operand> inputs, params, outputs; // one for each of the layer's
  bool collective = false;                      // the pieces compute at the same time and call Frame::peers
};

// An operand that lies along the cut.
constexpr Split::Operand along(std::size_t axis, std::int64_t each = 1) {
  return {.need = Split::Need::same, .axis = axis, .each = each};
}
// The names of the axes of pictures: "batch", "features", "height", "width", and "axis 4" and so on after these.
DLHOST_API std::string axis_name(std::size_t axis);
// The split of a layer without params whose inputs and outputs all have this axis, equally long. Call it after the
// outputs are declared.
DLHOST_API Split split_along(const Setup&, std::size_t axis);

// The part of a layer that an object computes. Pieces may have different sizes.
struct Piece {
  struct Cut {
    std::size_t split = 0; // index into Setup::splits
    Split::Range units;
  };
  std::vector<Cut> cuts; // of different splits; their ranges meet
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
