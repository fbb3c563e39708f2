// Prepared ops: a layer's or updater's requests to a device. A spec is plain data; prepare() turns it into an Op with
// chosen kernels and settled formats. Running the op allocates nothing and looks nothing up.
//
// Each spec gives the order of `run`'s tensors: "in" first, then "out". For descriptions with format `any` the op
// chooses; after prepare, Op::in and Op::out have the choice. All other descriptions are binding.
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

// The three products of a linear op. With y = x w:
enum class Role : std::uint8_t {
  feature,        // in {x, w, [b], [addend]}   out {y}
  input_gradient, // in {dy, w}                 out {dx}
  param_gradient, // in {x, dy}                 out {dw, [db]}
};

// Extra work on an op's result (the first of `out`) while it is still in registers. Mostly for feature ops, but any
// role may have one; the addend then has the form of that result.
struct Epilogue {
  bool add = false; // adds a tensor of the result's shape: the last of `in`; may be the same memory as the result
  std::optional<Pointwise> pointwise; // after the addition
  bool empty() const { return !add && !pointwise; }
};

// y[n, u] = x[n, ...] w[u, ...] + b[u]; x and w may have more axes (a dense layer takes an image unchanged).
// b with rank 0: no bias.
struct GemmSpec {
  Role role = Role::feature;
  TensorDesc x, w, b, y;
  Epilogue epilogue;
};

// x[n, c, ...], w[o, c / groups, ...], y[n, o, ...] with one to three spatial axes. Transposed: x and y swap places in
// the geometry (w[c, o / groups, ...]). On each axis the smaller side (x of a transposed convolution) has floor((big +
// pads - dilation (window - 1) - 1) / stride) + 1 places.
struct ConvSpec {
  Role role = Role::feature;
  TensorDesc x, w, b, y;
  std::vector<std::int64_t> stride, pad_low, pad_high, dilation; // dilation 1: none
  std::int64_t groups = 1;
  bool transposed = false;
  Epilogue epilogue;
};

// feature: in {x} out {y, [workspace]}; input_gradient: in {dy, [workspace]} out {dx}. `workspace_bytes` says whether
// max needs a workspace. Average divides by the number of the window's elements inside the input; with `count_padding`
// also those in the padding, except the last `uncounted` of an axis. Of equal maxima the first in the order of the axes
// gets the gradient. Errors: a window that lies in the padding alone.
struct PoolSpec {
  Role role = Role::feature;
  enum class Kind : std::uint8_t { max, average } kind = Kind::max;
  bool count_padding = false;
  TensorDesc x, y;
  std::vector<std::int64_t> window, stride, pad_low, pad_high;
  std::vector<std::int64_t> uncounted; // part of pad_high that a ceil-mode pool added; empty: none
  bool training = true;                // false: no workspace is written

  DLHOST_API Status check() const; // for devices: an error names the inconsistency
};

// Over which axes statistics are computed, and which axes have a scale and a shift:
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
// Batch norm's statistics use only the rows before Dynamic::valid; so do their gradients. The variance is the mean
// squared distance (not the sample variance). Only batch norm can have given statistics; gradient ops take them as
// constants.
// scale, shift, mean, variance, square are f32 and plain. With an epilogue the gradient op takes dy from behind it,
// which saves a pass over dy; `daddend` is the addend's gradient. If the pointwise's gradient is from the output, the
// op may take y too: its `in` says so. A device that finds the slope from x leaves y out, so that y need not be kept.
struct NormSpec {
  Role role = Role::feature;
  enum class Kind : std::uint8_t { batch, layer, group, rms } kind = Kind::batch;
  TensorDesc x, y;
  std::size_t axis = 1;    // for layer and rms
  std::int64_t groups = 1; // for group; divides the number of channels
  double epsilon = 1e-5;
  bool given_statistics = false;
  Epilogue epilogue;

  DLHOST_API Status check() const; // for devices: an error names the inconsistency
  DLHOST_API Shape params() const; // the shape of scale and shift
  DLHOST_API Shape statistics() const;
};

// Local response normalisation. feature: in {x} out {y, [workspace]}; input_gradient: in {x, dy, [workspace]} out {dx}.
// y = x / (k + alpha / n sum x^2)^beta, over `size` channels, or a window of size x size (n elements) around the
// element, starting size / 2 before it. Elements outside count as 0; n stays the same.
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
// total = {sum of losses, sum of weights of the counted rows}; rows from `valid` on are not counted and get gradient 0.
// A loss is the cross-entropy with the smoothed target ((1 - smoothing) at the label plus smoothing / classes
// everywhere), times the class weight of its label. Errors: a counted label outside of [0, classes) that is not the
// ignored one.
struct SoftmaxLossSpec {
  Role role = Role::feature;
  TensorDesc x;
  double smoothing = 0;
  std::optional<std::int64_t> ignored;
  bool class_weights = false;
};

// Rows of a table. feature: in {table [rows, ...], indices i32 [n...]} out {y [n..., ...]}; param_gradient: in
// {indices, dy} out {dtable}, which is cleared first. Errors: an index outside of the table; they come back from
// Stream::wait.
struct GatherSpec {
  Role role = Role::feature;
  TensorDesc table, indices, y;
};

// Any pointwise expression over tensors, with broadcasting and sums by shape. The index space is the broadcast of all
// tensors, which have the same rank (or 0, a single element). An input's axis of 1 is repeated; an output's axis of 1
// is summed over if the space has more (in a fixed order, in f32 or wider). If all tensors have one shape and format,
// any format works; else all must be plain, unless the device allows more (results in the form that the next ops want).
// in, out: the expression's inputs and results. An output may be the same memory as an input of the same description.
// With `segments` the op works on several flat pieces at once: the descriptions are those of the longest, and `run`
// takes in and out piece by piece, with the pieces' counts from `segments`. `rows`: axis 0 counts samples, and sums
// leave out rows from Dynamic::valid on.
struct MapSpec {
  Expression expression;
  std::vector<TensorDesc> in, out;
  std::vector<std::int64_t> segments;
  bool rows = false;
  bool keeps_zeros = false; // if all inputs are zero, so are the results: padding needs no care
};

// in {src} out {dst}: the same logical elements in another format or dtype.
struct ReorderSpec {
  TensorDesc src, dst;
};

// in {src} out {dst}: axis i of dst is axis order[i] of src. Both plain.
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

// The plan's requirements on an op. Default: the device decides.
struct Choice {
  std::string kernel;             // of an earlier run: use the same, or fail
  std::int64_t block_samples = 0; // reproducible: sums are made of blocks of this size, in a fixed tree
  int threads = 0;                // 0: the calling worker's number
};

// The arguments that change from run to run.
struct Dynamic {
  std::span<const float> scalars;
  std::int64_t valid = -1; // rows that count; -1: all
  DrawKey key;
  std::uint32_t epoch = 0;
  std::span<const std::uint32_t> samples; // the sample of each row, for draws; empty: the row's number
};

class Stream;

// Owned by one program. Thread: one task at a time. Requires: destroyed before its device.
class DLHOST_API Op {
 public:
  virtual ~Op();

  std::vector<TensorDesc> in, out; // after prepare: as settled
  std::size_t scratch_bytes = 0;   // unused after run
  std::size_t workspace_bytes = 0; // passed from a feature op to its gradient op
  std::string kernel;              // "brg:avx512_core", "openblas sgemm", ...
  std::string remark;              // why not a faster kernel, or which epilogue was refused; may be empty
  bool epilogue_taken = true;      // false: the op does not do the epilogue; core runs it separately
  double operations = 0;           // floating-point operations of a run

  // Pointers are to the device's memory, in the spec's order. Asynchronous if the stream is: memory may be reused after
  // the stream has passed.
  void run(Stream& stream, std::initializer_list<const void*> inputs, std::initializer_list<void*> outputs,
           void* scratch = nullptr, const Dynamic& dynamic = {}) {
    execute(stream, {inputs.begin(), inputs.size()}, {outputs.begin(), outputs.size()}, scratch, dynamic);
  }
  virtual void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
                       const Dynamic&) = 0;
};

} // namespace dlhost
