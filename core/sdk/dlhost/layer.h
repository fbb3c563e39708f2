// Layers transform features, own params and compute their gradients.
//
// Life of a layer: it is constructed from its options. setup() is called once with the shapes of its inputs; there it
// declares everything that core needs to know. prepare() is called once, after partition and the choice of formats;
// there it prepares its ops for its piece of the net. Then compute_feature and compute_gradient are called any number
// of times. Each program (phase, batch size) has its own layer objects; they share params and running state by name.
// After prepare a layer is immutable: everything of a batch lies in the frame.
//
// A gradient has its feature's shape, format and dtype. Gradients are overwritten, not added to, unless the layer
// declared `accumulates`. Core checks counts and shapes around these calls; layers need not.
//
// A layer that can be cut along an axis other than the batch also includes dlhost/partition.h.
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

// How the replicas' running state is merged.
enum class Merge : std::uint8_t { none, mean, sum };

// Defined in dlhost/partition.h, for layers that can be cut, and for code that makes a Setup, such as tests.
struct Factors;
struct Piece;
struct Split;

struct Port {
  std::string name;
  TensorDesc desc; // plain in setup; the format is chosen later
};

struct ParamSpec {
  std::string name; // "weight"
  Shape shape;
  Part init;                            // default initialiser; the job may set another
  std::int64_t fan_in = 0, fan_out = 0; // for initialisers that scale
  double rate_scale = 1, decay_scale = 1;
};

struct BufferSpec {
  std::string name;
  TensorDesc desc;
  Life life = Life::workspace;
  Merge merge = Merge::none;
  float initial = 0; // for carried and running buffers
};

// The tensors that a gradient reads. Core may reuse the other tensors after the feature pass.
struct Reads {
  bool inputs = true;
  bool outputs = false;
};

// A number computed for people, summed over the batch on the device: output `output` is f32 [2] {sum, weight}, and the
// metric is the quotient of the sums over all batches. A table is f32 [rows, columns] of counts, summed over all
// batches.
struct MetricSpec {
  std::string name;
  std::size_t output = 0;
  bool better_high = false;
  bool table = false;
};

class Setup {
 public:
  // Given to the layer.
  std::span<const Port> inputs;
  Phase phase = Phase::train;
  DType compute = DType::f32; // the dtype of features
  std::int64_t batch = 0;
  std::string_view layer; // the instance's name, for messages

  const Shape& input(std::size_t i) const { return inputs[i].desc.shape; }

  // Declared by the layer.
  void output(std::string name, Shape shape) { output(std::move(name), TensorDesc{compute, shape, {}}); }
  void output(std::string name, TensorDesc desc) { outputs.push_back({std::move(name), desc}); }
  std::size_t param(ParamSpec spec) {
    params.push_back(std::move(spec));
    return params.size() - 1;
  }
  // Running state, or carried, which has a row for each sample. For what a piece needs while it computes:
  // Prepare::buffer.
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
  bool in_place = false;              // output 0 may overwrite input 0 (and input gradient 0 output gradient 0)
  bool is_view = false;               // output 0 is input 0's memory with another shape; computes nothing
  bool accumulates = false;           // compute_gradient can add to its input gradients; Prepare says when it must
  bool host = false;                  // computes on the host in plain format: core copies its inputs there
  bool is_loss = false;               // starts the gradient; needs no output gradient
  bool has_gradient = true;           // false: sources, metrics
  bool data_order = false;            // its order of work depends on the data: core must not record and replay it
  std::optional<Pointwise> pointwise; // output 0 of input 0: may become another op's epilogue
  bool is_sum = false;                // output 0 is the sum of the inputs: may become another op's epilogue
  bool whole_batch = false;           // a row depends on others (batch norm); a collective split "batch" may say how
  // For layers that include dlhost/partition.h. `splits`: the ways in which it can be cut, besides by rows of the
  // batch, as every layer can be unless whole_batch is set. `factors`: the param gradients that are products.
  std::vector<Split> splits;
  std::vector<Factors> factors;
};

struct KernelSpec;

// Chooses the forms and ops of one layer in one program.
class DLHOST_API Prepare {
 public:
  virtual ~Prepare();
  virtual Device& device() = 0;
  virtual bool training() const = 0;
  virtual DType compute() const = 0;
  virtual std::int64_t batch() const = 0;
  // The tensors of the piece: shapes after partition, in the producers' forms.
  virtual const TensorDesc& input(std::size_t) const = 0;
  virtual const TensorDesc& output(std::size_t) const = 0; // plain; gives() chooses another form
  virtual const Shape& param_shape(std::size_t) const = 0;
  virtual bool wants_input_gradient(std::size_t) const = 0;
  virtual bool wants_param_gradient(std::size_t) const = 0;
  virtual bool adds_input_gradient(std::size_t) const = 0; // only if the layer declared `accumulates`
  // Declares that this gradient does not add after all, for lack of an op; core adds.
  virtual void leaves_adding(std::size_t input) = 0;
  // The epilogue that core would like for output 0; may be empty. A layer that passes it to its feature op accepts it;
  // Op::epilogue_taken then decides.
  virtual Epilogue epilogue() = 0;
  // The input number of an epilogue's addend (for Frame::input and reads()); it comes after the inputs of setup. Its
  // form has to be the output's.
  virtual std::size_t addend() const = 0;
  // Declares that compute_gradient takes output gradients from behind the epilogue and also computes the addend's
  // gradient (Frame::input_gradient of addend()). Else core first undoes the epilogue. `reads_output`: the gradient
  // reads the epilogue's result; else that lives only as long as its readers need it.
  virtual void takes_epilogue_gradient(bool reads_output) = 0;

  // Prepares an op of this layer; core records its kernel, scratch and operations. `role` is for reports.
  virtual Result<std::unique_ptr<Op>> op(const OpSpec&, Role role = Role::feature) = 0;
  // The same for an op of the layer's companion for this device (dlhost/kernel.h), which is loaded now. Errors: no
  // companion; the message says what was searched for, and where. A layer returns the error, unless it can use the
  // device's ops.
  virtual Result<std::unique_ptr<Op>> kernel(const KernelSpec&, Role role = Role::feature) = 0;
  // Whether a companion exists; loads nothing. True also for a broken one: kernel() then returns the error.
  virtual bool has_kernels() = 0;
  // The piece that this object computes (dlhost/partition.h). Without cuts: the layer is whole, or has some of the
  // rows.
  virtual Piece piece() const = 0;

  // The form in which compute_* reads input i. Default: the producer's.
  virtual void reads(std::size_t input, const TensorDesc&) = 0;
  // The form in which output i is written. Default: plain.
  virtual void gives(std::size_t output, const TensorDesc&) = 0;
  // Asks for a param in a dtype and format; returns the number for Frame::param. Core keeps one f32 master in the
  // gradient's format, and a working copy for each other form, made once for each version.
  virtual std::size_t uses(std::size_t param, const TensorDesc&) = 0;
  // The f32 form in which the gradient of a param is made. Default: plain.
  virtual void gives_gradient(std::size_t param, const TensorDesc&) = 0;
  // A scratch or workspace buffer whose size is known only now (an op's workspace); returns the number for
  // Frame::buffer.
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

// Common checks: the number of inputs, and the rank of one.
DLHOST_API Status expect_inputs(const Setup&, std::size_t least, std::size_t most);
DLHOST_API Status expect_rank(const Setup&, std::size_t input, std::size_t least, std::size_t most = max_rank);

} // namespace dlhost
