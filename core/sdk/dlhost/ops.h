// Prepared ops: what a layer or an updater asks a device for. A spec is plain data; prepare() turns it into an Op with
// kernels chosen and formats settled; running it allocates nothing and looks nothing up.
//
// Each spec says in which order `run` takes its tensors: "in" first, then "out". Descriptions whose format is `any`
// let the op choose; after prepare, Op::in and Op::out say what it chose. All other descriptions are taken as given.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <dlhost/expression.h>
#include <dlhost/random.h>
#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost {

// Which of the three products of a linear op. With y = x w:
enum class Role : std::uint8_t {
  feature,        // in {x, w, [b], [addend]}   out {y}
  input_gradient, // in {dy, w}                 out {dx}
  param_gradient, // in {x, dy}                 out {dw, [db]}
};

// What an op does to its result (the first of `out`) while it still has it in registers: of a feature op mostly, but
// any role may have one; the addend is then of that result's form.
struct Epilogue {
  bool add = false; // adds a tensor of the result's shape: the last of `in`; it may be the same memory as the result
  std::optional<Pointwise> pointwise; // after the addition
  bool empty() const { return !add && !pointwise; }
};

// y[n, u] = x[n, ...] w[u, ...] + b[u]; x and w may have more axes (an image goes into a dense layer as it lies).
// b with rank 0 means no bias.
struct GemmSpec {
  Role role = Role::feature;
  TensorDesc x, w, b, y;
  Epilogue epilogue;
};

// x[n, c, ...], w[o, c / groups, ...], y[n, o, ...] with one to three spatial axes; transposed: x and y change places
// in the geometry (w[c, o / groups, ...]). On each axis the smaller side, which is x of a transposed convolution,
// has floor((big + pads - dilation (window - 1) - 1) / stride) + 1 places.
struct ConvSpec {
  Role role = Role::feature;
  TensorDesc x, w, b, y;
  std::vector<std::int64_t> stride, pad_low, pad_high, dilation; // dilation 1: none
  std::int64_t groups = 1;
  bool transposed = false;
  Epilogue epilogue;
};

// feature: in {x} out {y, [workspace]}; input_gradient: in {dy, [workspace]} out {dx}. The op says in `workspace_bytes`
// whether max needs one. Average divides by the window's elements inside the input; with `count_padding` by those in
// the padding too, but for the last `uncounted` of an axis. Of equal maxima the first in the order of the axes gets the
// gradient. A window that lies in the padding alone is refused.
struct PoolSpec {
  Role role = Role::feature;
  enum class Kind : std::uint8_t { max, average } kind = Kind::max;
  bool count_padding = false;
  TensorDesc x, y;
  std::vector<std::int64_t> window, stride, pad_low, pad_high;
  std::vector<std::int64_t> uncounted; // of pad_high, what a ceil-mode pool added to it; empty: nothing
  bool training = true;                // else no workspace is written

  DLHOST_API Status check() const; // for devices: an error says what does not hold together
};

// What shares a statistic, and what shares a scale and a shift:
//   batch  statistics [c] over all axes but 1; params [c]
//   layer  statistics [the axes before `axis`] over the axes from `axis` on; params [the axes from `axis` on]
//   group  statistics [n, groups] over a sample's c / groups channels, from axis 1 on; params [c]
//   rms    as layer, but x is divided by the root of its mean square, and not shifted: y = x / sqrt(square + epsilon)
//          scale. There is no mean and no shift, and `square`, the mean square, stands for the variance.
// feature, batch statistics: in {x, scale, shift, [addend]} out {y, mean, variance, [workspace]}
// feature, given statistics: in {x, scale, shift, mean, variance, [addend]} out {y}
// input_gradient (makes the params' gradients too):
//   in {x, dy, scale, shift, mean, variance, [y], [workspace]} out {dx, dscale, dshift, [daddend]}
// rms, feature: in {x, scale, [addend]} out {y, square, [workspace]}
// rms, input_gradient: in {x, dy, scale, square, [y], [workspace]} out {dx, dscale, [daddend]}
// Batch norm's statistics are made of the rows before Dynamic::valid only; so are their gradients. The variance is the
// mean squared distance (not that of a sample). Only batch norm can be given statistics; gradient ops take these as
// constants.
// scale, shift, mean, variance, square are f32 and plain. With an epilogue the gradient takes dy behind it, so that no
// pass over dy is made for it; `daddend` is what goes to the addend. Where the pointwise's gradient is from the output
// it may take y too: its `in` says so, and who finds the slope from x leaves y out, which then need not be kept.
struct NormSpec {
  Role role = Role::feature;
  enum class Kind : std::uint8_t { batch, layer, group, rms } kind = Kind::batch;
  TensorDesc x, y;
  std::size_t axis = 1;    // of layer and rms
  std::int64_t groups = 1; // of group: they divide the channels
  double epsilon = 1e-5;
  bool given_statistics = false;
  Epilogue epilogue;

  DLHOST_API Status check() const; // for devices: an error says what does not hold together
  DLHOST_API Shape params() const; // of scale and shift
  DLHOST_API Shape statistics() const;
};

// Local response normalisation. feature: in {x} out {y, [workspace]}; input_gradient: in {x, dy, [workspace]} out {dx}.
// y = x / (k + alpha / n sum x^2)^beta, over `size` channels, or a window of size x size (n its elements) around the
// element: from size / 2 before it on. What lies outside counts as 0, and n stays.
struct LrnSpec {
  Role role = Role::feature;
  bool within_channel = false;
  TensorDesc x, y;
  std::int64_t size = 5;
  double alpha = 1e-4, beta = 0.75, k = 1;
  bool training = true;
};

// feature: in {x} out {y}; input_gradient: in {y, dy} out {dx}. Over one axis.
struct SoftmaxSpec {
  Role role = Role::feature;
  TensorDesc x, y;
  std::size_t axis = 1;
  bool logarithm = false;
};

// Softmax and cross-entropy over axis 1 of x[n, classes, ...]; labels i32 [n, ...]; class weights f32 [classes].
// feature:        in {x, labels, [class_weights]}              out {probabilities (as x), total f32 [2]}
// input_gradient: in {probabilities, labels, [class_weights]}  out {dx}, scalar 0: the factor
// total = {sum of losses, sum of weights of the counted}; rows from `valid` on are not counted and get gradient 0.
// A loss is the cross-entropy with the smoothed target, (1 - smoothing) at the label and smoothing / classes
// everywhere, times its label's class weight. A counted label outside of [0, classes) that is not the ignored one is an
// error.
struct SoftmaxLossSpec {
  Role role = Role::feature;
  TensorDesc x;
  double smoothing = 0;
  std::optional<std::int64_t> ignored;
  bool class_weights = false;
};

// Rows of a table. feature: in {table [rows, ...], indices i32 [n...]} out {y [n..., ...]};
// param_gradient: in {indices, dy} out {dtable}, which is cleared first. An index outside of the table is an error.
// Errors in the data come back from Stream::wait.
struct GatherSpec {
  Role role = Role::feature;
  TensorDesc table, indices, y;
};

// Any pointwise expression over tensors, with broadcasting and sums by shape: the index space is the broadcast of all
// tensors, which have one rank (or 0, a single element); an input's axis of 1 is repeated; an output's axis of 1 where
// the space has more is summed over (in a fixed order, in f32 or wider). All of one shape and format: any format will
// do; else all must be plain, unless the device says otherwise (results for the next ops, as those want them). in, out
// as the expression's inputs and results. An output may be the same memory as an input of the same description. With
// `segments`, the op works on several flat pieces in one go: the descriptions are those of the longest, and `run` takes
// in and out piece by piece, with the pieces' counts from `segments`. `rows`: axis 0 counts samples, and rows from
// Dynamic::valid on are left out of sums.
struct MapSpec {
  Expression expression;
  std::vector<TensorDesc> in, out;
  std::vector<std::int64_t> segments;
  bool rows = false;
  bool keeps_zeros = false; // where all inputs are zero, the results are: padding needs no care
};

// in {src} out {dst}: the same logical elements in another format or dtype.
struct ReorderSpec {
  TensorDesc src, dst;
};

// in {src} out {dst}: axis i of dst is axis order[i] of src. Plain.
struct TransposeSpec {
  TensorDesc src, dst;
  std::vector<std::size_t> order;
};

// in {src} out {dst}: copies (or adds) a box of extents `box` from src at `from` to dst at `to`; the rest of dst stays.
struct BoxSpec {
  TensorDesc src, dst;
  Shape from, to, box;
  bool add = false;
};

using OpSpec = std::variant<GemmSpec, ConvSpec, PoolSpec, NormSpec, LrnSpec, SoftmaxSpec, SoftmaxLossSpec, GatherSpec,
                            MapSpec, ReorderSpec, TransposeSpec, BoxSpec>;

DLHOST_API std::string_view name_of(const OpSpec&); // "gemm", "conv", ...

// What the plan has fixed about an op. Default: the device decides.
struct Choice {
  std::string kernel;             // of an earlier run: use this one again, or fail
  std::int64_t block_samples = 0; // reproducible: sums are made of blocks of so many samples, in a fixed tree
  int threads = 0;                // 0: as many as the calling worker has
};

// What changes from run to run.
struct Dynamic {
  std::span<const float> scalars;
  std::int64_t valid = -1; // rows that count; -1: all
  DrawKey key;
  std::uint32_t epoch = 0;
  std::span<const std::uint32_t> samples; // of each row, for draws; empty: the row's number
};

class Stream;

// Belongs to one program and is run by one task at a time. Destroyed before its device.
class DLHOST_API Op {
 public:
  virtual ~Op();

  std::vector<TensorDesc> in, out; // as settled
  std::size_t scratch_bytes = 0;   // dead after run
  std::size_t workspace_bytes = 0; // what a feature op leaves for its gradient op
  std::string kernel;              // "brg:avx512_core", "openblas sgemm", ...
  std::string remark;              // why not a faster one, or which epilogue was refused; may be empty
  bool epilogue_taken = true;      // false: the spec's epilogue is not done; core runs it on its own
  double operations = 0;           // floating-point operations of a run

  // The pointers are to the device's memory, in the spec's order. Asynchronous where the stream is: memory may be
  // reused when the stream has passed.
  void run(Stream& stream, std::initializer_list<const void*> inputs, std::initializer_list<void*> outputs,
           void* scratch = nullptr, const Dynamic& dynamic = {}) {
    execute(stream, {inputs.begin(), inputs.size()}, {outputs.begin(), outputs.size()}, scratch, dynamic);
  }
  virtual void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
                       const Dynamic&) = 0;
};

} // namespace dlhost
