// Layers: they transform features, own params and know their gradients.
//
// Life of a layer: constructed from its options; setup() once, with the shapes of its inputs, where it says everything
// that core may know about it; prepare() once, after partition and form-finding, where it prepares its ops for the
// piece of the net that is its own; then compute_feature and compute_gradient, any number of times. Each program
// (phase, batch size) has its own layer objects; they share params and running state by name. After prepare a layer is
// immutable: everything of a batch lies in the frame.
//
// A gradient lies as its feature lies: same shape, format and dtype. Gradients are overwritten, never added to, unless
// the layer said `accumulates`. Core checks counts and shapes around these calls; layers need not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/device.h>
#include <dlhost/expression.h>
#include <dlhost/frame.h>
#include <dlhost/kind.h>
#include <dlhost/schema.h>
#include <dlhost/status.h>

namespace dlhost {

// How long a buffer's contents live.
enum class Life : std::uint8_t {
  scratch,   // within one call
  workspace, // from compute_feature to compute_gradient of the same frame
  carried,   // from batch to batch, per sample row (recurrent state)
  running,   // for the whole run: checkpointed, shared by all programs
};

// How running state of replicas becomes one.
enum class Merge : std::uint8_t { none, mean, sum };

struct Port {
  std::string name;
  TensorDesc desc; // plain in setup; the format is found later
};

struct ParamSpec {
  std::string name; // "weight"
  Shape shape;
  Part init;                            // default initialiser; the job may choose another
  std::int64_t fan_in = 0, fan_out = 0; // for initialisers that scale
  double rate_scale = 1, decay_scale = 1;
};

struct BufferSpec {
  std::string name;
  TensorDesc desc;
  Life life = Life::workspace;
  Merge merge = Merge::none;
  float initial = 0; // of carried and running buffers
};

// What a gradient reads; what it does not read, core may reuse after the feature pass.
struct Reads {
  bool inputs = true;
  bool outputs = false;
};

// How one output axis can be cut, and what a piece then needs.
struct Split {
  enum class Need : std::uint8_t {
    whole,   // all of it
    same,    // the piece along `axis`
    halo,    // the piece along `axis`, widened by `low` and `high` elements
    partial, // the outputs of the pieces are to be summed
  };
  struct Operand {
    Need need = Need::whole;
    std::size_t axis = 0;
    std::int64_t low = 0, high = 0;
  };
  std::size_t output = 0;
  std::size_t axis = 0;
  std::vector<Operand> inputs, params;
  bool sums_outputs = false; // every piece makes a summand of the whole output instead of a part of it
  bool collective = false;   // its pieces compute at the same time, and call Frame::peers
};

// What a layer is prepared for under a partition.
struct Piece {
  std::size_t split = 0;            // which of Setup::splits
  std::int64_t first = 0, last = 0; // its elements of the axis that is cut
};

// A number that the layer computes for people, summed over the batch on the device: output `output` is f32 [2]
// {sum, weight}, and the metric is the quotient of the sums over all batches. A table is f32 [rows, columns] of counts
// and is summed over all batches as it is.
struct MetricSpec {
  std::string name;
  std::size_t output = 0;
  bool better_high = false;
  bool table = false;
};

class Setup {
 public:
  // What is known.
  std::span<const Port> inputs;
  Phase phase = Phase::train;
  DType compute = DType::f32; // what features are to be in
  std::int64_t batch = 0;
  std::string_view layer; // the instance's name, for messages

  const Shape& input(std::size_t i) const { return inputs[i].desc.shape; }

  // What the layer says.
  void output(std::string name, Shape shape) { output(std::move(name), TensorDesc{compute, shape, {}}); }
  void output(std::string name, TensorDesc desc) { outputs.push_back({std::move(name), desc}); }
  std::size_t param(ParamSpec spec) {
    params.push_back(std::move(spec));
    return params.size() - 1;
  }
  std::size_t buffer(BufferSpec spec) {
    buffers.push_back(std::move(spec));
    return buffers.size() - 1;
  }
  void metric(MetricSpec spec) { metrics.push_back(std::move(spec)); }

  std::vector<Port> outputs;
  std::vector<ParamSpec> params;
  std::vector<BufferSpec> buffers;
  std::vector<MetricSpec> metrics;
  Reads reads;
  bool in_place = false;              // output 0 may be written over input 0 (and gradient 0 over output gradient 0)
  bool is_view = false;               // output 0 is input 0's memory with another shape; nothing is computed
  bool accumulates = false;           // compute_gradient can add to its input gradients; Prepare tells when it must
  bool host = false;                  // computes on the host, in plain format: core brings inputs there
  bool is_loss = false;               // starts the gradient; needs no output gradient
  bool has_gradient = true;           // false: sources, metrics
  bool data_order = false;            // what it does depends on the data: core must not record it once and replay
  std::optional<Pointwise> pointwise; // output 0 of input 0: may become another op's epilogue
  bool is_sum = false;                // output 0 is the sum of the inputs: may become another op's epilogue
  std::vector<Split> splits;          // beside the batch axis, which every layer can be cut on unless:
  bool whole_batch = false;           // a row depends on others (batch norm); a collective split of axis 0 may say how
  // A param gradient that is a product: dw[u, ...] is the sum over rows n of dy[n, u] x[n, ...]; or one of a table's
  // rows: dw[x[n]] is the sum over all n of dy[n]. Core may then send both instead and make it late; it does not ask
  // for that gradient (Prepare::wants_param_gradient). dy is what the layer gets: who takes gradients from behind an
  // epilogue declares none.
  struct Factors {
    std::size_t param = 0;
    std::size_t output = 0; // of whose gradient
    std::size_t input = 0;
    bool of_rows = false; // x counts the param's rows
  };
  std::vector<Factors> factors;
};

struct KernelSpec;

// The forms and ops of one layer in one program.
class DLHOST_API Prepare {
 public:
  virtual ~Prepare();
  virtual Device& device() = 0;
  virtual bool training() const = 0;
  virtual DType compute() const = 0;
  virtual std::int64_t batch() const = 0;
  // The piece's tensors: shapes after partition, forms as the producers leave them.
  virtual const TensorDesc& input(std::size_t) const = 0;
  virtual const TensorDesc& output(std::size_t) const = 0; // plain; say gives() to lay it otherwise
  virtual const Shape& param_shape(std::size_t) const = 0;
  virtual bool wants_input_gradient(std::size_t) const = 0;
  virtual bool wants_param_gradient(std::size_t) const = 0;
  virtual bool adds_input_gradient(std::size_t) const = 0; // only where the layer said `accumulates`
  // It does not after all, for want of an op that does: core adds.
  virtual void leaves_adding(std::size_t input) = 0;
  // What core would like output 0's op to do as well; empty when there is nothing. Who passes it to its feature op
  // takes it; Op::epilogue_taken then decides.
  virtual Epilogue epilogue() = 0;
  // The addend of an epilogue with `add`: its number among the layer's inputs (Frame::input, reads()); it comes after
  // those of setup. Its form has to be the output's.
  virtual std::size_t addend() const = 0;
  // Says that compute_gradient takes output gradients from behind the epilogue, and makes the addend's gradient too
  // (Frame::input_gradient of addend()). Else core undoes the epilogue before it. `reads_output`: it needs what the
  // epilogue gave; without, that lives no longer than its readers need it.
  virtual void takes_epilogue_gradient(bool reads_output) = 0;

  // Prepares an op of this layer; core records its kernel, scratch and operations. `role` is for people.
  virtual Result<std::unique_ptr<Op>> op(const OpSpec&, Role role = Role::feature) = 0;
  // The same of an op of the layer's companion for this device (dlhost/kernel.h), which is loaded now. Without one the
  // error says what was looked for, and where: a layer hands it on, unless it can do with the device's ops.
  virtual Result<std::unique_ptr<Op>> kernel(const KernelSpec&, Role role = Role::feature) = 0;
  // Whether there is a companion: nothing is loaded. One that is broken is there, and kernel() says what is wrong.
  virtual bool has_kernels() = 0;
  // None: the layer is whole.
  virtual std::optional<Piece> piece() const = 0;

  // The form in which compute_* reads input i. Default: as the producer leaves it.
  virtual void reads(std::size_t input, const TensorDesc&) = 0;
  // The form in which output i is written. Default: plain.
  virtual void gives(std::size_t output, const TensorDesc&) = 0;
  // A param in some dtype and format: the number for Frame::param. Core keeps one master in f32, as its gradient
  // lies, and a working copy for each other form, made once a version.
  virtual std::size_t uses(std::size_t param, const TensorDesc&) = 0;
  // The form in which the gradient of a param is made: f32. Default: plain.
  virtual void gives_gradient(std::size_t param, const TensorDesc&) = 0;
  // A buffer whose size is only known now (an op's workspace), scratch or workspace: the number for Frame::buffer.
  virtual std::size_t buffer(std::string name, std::size_t bytes, Life) = 0;
};

class DLHOST_API Layer : public Plugin {
 public:
  static constexpr Kind kind = Kind::layer;

  virtual Status setup(Setup&) = 0;
  virtual Status prepare(Prepare&) = 0;
  virtual void compute_feature(const Pass&, Frame&) const = 0;
  virtual void compute_gradient(const Pass&, Frame&, Wanted) const;
};

// Checks that many layers make: how many inputs, of which rank.
DLHOST_API Status expect_inputs(const Setup&, std::size_t least, std::size_t most);
DLHOST_API Status expect_rank(const Setup&, std::size_t input, std::size_t least, std::size_t most = max_rank);

} // namespace dlhost
