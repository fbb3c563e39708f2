// Expressions over tensors: one launch for all elementwise results, one for each sum. One launch takes many flat pieces
// (the slices of an updater).
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "launch.h"
#include "number.h"
#include "prepare.h"
#include "program.h"
#include "source.h"

namespace dlhost::plugins::cuda {

namespace {

constexpr int most_operands = 16; // inputs, and outputs
constexpr int most_pointers = 256;
constexpr int most_pieces = 64;

// The strides of a tensor in the space's index: 0 along an axis of size 1.
struct Operand {
  DType type = DType::f32;
  bool whole = true; // has the shape of the space
  std::int64_t stride[max_rank] = {};

  Operand() = default;
  Operand(const TensorDesc& desc, const Shape& space) : type(desc.dtype), whole(desc.shape == space) {
    for (std::size_t axis = 0; axis < desc.shape.rank(); ++axis)
      stride[axis] = desc.shape[axis] == 1 ? 0 : desc.shape.past(axis + 1);
  }
  DLHOST_BODY std::int64_t place(const Dims& space, std::int64_t index) const {
    if (whole) return index;
    std::int64_t at = 0;
    for (std::int32_t axis = space.rank; axis-- > 0;) at += last_digit(index, space.size[axis]) * stride[axis];
    return at;
  }
};

// All inputs of an element's evaluation. Items number the pieces one after the other: piece p is items [start[p],
// start[p + 1]), and has `inputs` and `outputs` pointers.
template <int steps> struct Evaluation {
  Steps<steps> program;
  Scalars scalars;
  Drawing drawing;
  Dims space;
  std::int64_t row_size = 1, channels_last = 0; // number of channels in a channels-last layout, else 0
  std::int32_t inputs = 0, outputs = 0, pieces = 0;
  Operand in[most_operands], out[most_operands];
  std::uint16_t result[most_operands] = {}; // the step that computes an output; no_result: another launch
  const void* from[most_pointers] = {};
  void* to[most_pointers] = {};
  std::int64_t start[most_pieces + 1] = {};

  struct Inputs {
    const Evaluation* of;
    std::int64_t piece, index;
    DLHOST_BODY float operator()(std::uint32_t which) const {
      const Operand& operand = of->in[which];
      return load(operand.type, of->from[piece * of->inputs + which], operand.place(of->space, index));
    }
  };
  struct Uniform {
    const Evaluation* of;
    std::int64_t index;
    DLHOST_BODY float operator()(std::uint32_t which) const {
      const std::int64_t row = quotient(index, of->row_size);
      std::int64_t place = index - row * of->row_size;
      if (of->channels_last > 0) { // draws are numbered as in the plain layout
        const std::int64_t at = quotient(place, of->channels_last);
        place = (place - at * of->channels_last) * quotient(of->row_size, of->channels_last) + at;
      }
      return of->drawing.draw_of(which, row, place);
    }
  };
  DLHOST_BODY void evaluate(std::int64_t piece, std::int64_t index, float* values) const {
    program.run(values, scalars, Inputs{this, piece, index}, Uniform{this, index});
  }
};

template <int steps> struct Elements {
  Evaluation<steps> all;
  DLHOST_BODY void operator()(std::int64_t i) const {
    std::int64_t piece = 0;
    for (std::int64_t last = all.pieces; last - piece > 1;) { // the last piece that starts at i or before
      const std::int64_t middle = (piece + last) / 2;
      if (all.start[middle] <= i)
        piece = middle;
      else
        last = middle;
    }
    const std::int64_t index = i - all.start[piece];
    float values[steps];
    all.evaluate(piece, index, values);
    for (std::int32_t o = 0; o < all.outputs; ++o)
      if (all.result[o] != no_result)
        store(all.out[o].type, all.to[piece * all.outputs + o], index, values[all.result[o]]);
  }
};

// One output's sums: an item is an element of the output, a term one of the elements of the space that it sums.
template <int steps> struct Summed {
  using Sum = double;
  Evaluation<steps> all;
  std::int64_t piece = 0;
  std::uint16_t result = 0;
  Target target;
  std::int64_t counted = 0; // rows
  Dims kept, added;         // the sizes of the axes that the output has, and of the others; else 1
  std::int64_t stride[max_rank] = {};

  DLHOST_BODY Sum zero() const { return 0; }
  DLHOST_BODY void take(Sum& sum, std::int64_t item, std::int64_t term) const {
    std::int64_t index = 0;
    for (std::int32_t axis = kept.rank; axis-- > 0;)
      index += (last_digit(item, kept.size[axis]) + last_digit(term, added.size[axis])) * stride[axis];
    if (quotient(index, all.row_size) >= counted) return;
    float values[steps];
    all.evaluate(piece, index, values);
    sum += static_cast<double>(values[result]);
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum += other; }
  DLHOST_BODY void finish(std::int64_t item, const Sum& sum) const { target.set(item, static_cast<float>(sum)); }
};

// Moves a sum from scratch to its output.
struct Moved {
  Source src;
  Target dst;
  DLHOST_BODY void operator()(std::int64_t i) const { dst.set(i, src[i]); }
};

// The broadcast of all tensors; rank 0 stands for a single element. None: they do not fit.
std::optional<Shape> space_of(const MapSpec& spec) {
  Shape space;
  for (const auto* list : {&spec.in, &spec.out})
    for (const auto& desc : *list) {
      if (desc.shape.rank() == 0) continue;
      if (space.rank() == 0) space = desc.shape;
      if (desc.shape.rank() != space.rank()) return std::nullopt;
      for (std::size_t axis = 0; axis < space.rank(); ++axis) {
        if (space[axis] == 1) space[axis] = desc.shape[axis];
        if (desc.shape[axis] != space[axis] && desc.shape[axis] != 1) return std::nullopt;
      }
    }
  return space;
}

template <int steps> class MapOp final : public KernelOp {
 public:
  MapOp(const MapSpec& spec, const Shape& space, ElementCompiler* compiler)
      : segments_(spec.segments), space_(space), rows_(spec.rows), draws_(spec.expression.draws()),
        scalars_(spec.expression.scalar_count()), results_(spec.expression.results()) {
    in = spec.in;
    out = spec.out;
    if (in.size() + out.size() > 0 && (in.empty() ? out : in)[0].format == channels_last)
      base_.channels_last = space_[1];
    base_.program = Steps<steps>::of(spec.expression);
    base_.inputs = static_cast<std::int32_t>(in.size());
    base_.outputs = static_cast<std::int32_t>(out.size());
    std::fill_n(base_.result, most_operands, no_result);
    bool elements = false;
    for (std::size_t o = 0; o < out.size(); ++o)
      if (out[o].shape == space_) {
        base_.result[o] = results_[o];
        elements = true;
      }
    has_elements_ = elements;
    if (draws_) samples_ = room<std::uint32_t>(space_.rank() ? space_[0] : 1);
    for (std::size_t o = 0; o < out.size(); ++o) {
      if (out[o].shape == space_) continue;
      this->template sums<Summed<steps>>(out[o].count(), terms_of(o, space_));
      if (may_be_read(o)) held_[o] = room<std::byte>(static_cast<std::int64_t>(out[o].plain_bytes()));
    }
    settle_sums();
    kernel = concat("cuda map of ", steps);
    if (has_elements_ && compiler) compile(spec, *compiler);
    std::int64_t count = 0;
    for (const auto length : segments_) count += length;
    if (segments_.empty()) count = space_.count();
    operations = static_cast<double>(count) * static_cast<double>(spec.expression.steps().size());
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    if (scalars_ > call.dynamic.scalars.size())
      return stream.fail(Status::invalid("cuda: the expression has ", scalars_, " scalars, but ",
                                         call.dynamic.scalars.size(), " are given"));
    std::copy_n(call.dynamic.scalars.begin(), scalars_, base_.scalars.value);
    bring_samples(stream, call);
    if (segments_.empty()) {
      std::copy(call.in.begin(), call.in.begin() + base_.inputs, base_.from);
      std::copy(call.out.begin(), call.out.begin() + base_.outputs, base_.to);
      const std::int64_t whole = space_.count();
      return run_pieces(stream, call, {&whole, 1});
    }
    const std::size_t at_once = pieces_at_once();
    for (std::size_t first = 0; first < segments_.size(); first += at_once) {
      const std::size_t number = std::min(at_once, segments_.size() - first);
      std::copy_n(call.in.begin() + static_cast<std::ptrdiff_t>(first * in.size()), number * in.size(), base_.from);
      std::copy_n(call.out.begin() + static_cast<std::ptrdiff_t>(first * out.size()), number * out.size(), base_.to);
      run_pieces(stream, call, std::span<const std::int64_t>(segments_).subspan(first, number));
    }
  }

 private:
  void compile(const MapSpec& spec, ElementCompiler& compiler) {
    const auto source = source_of(spec, space_, {base_.result, out.size()}, pieces_at_once());
    auto made = source.ok() ? compiler.compile(*source) : Result<std::unique_ptr<ElementKernel>>(source.status());
    if (!made.ok()) {
      remark = concat("slow: interpreted: ", made.status().message());
      return;
    }
    compiled_ = *std::move(made);
    kernel = "cuda map, compiled";
  }
  std::size_t pieces_at_once() const {
    if (segments_.empty()) return 1;
    const std::size_t operands = std::max<std::size_t>({1, in.size(), out.size()});
    return std::min<std::size_t>({most_pieces, most_pointers / operands, segments_.size()});
  }

  void bring_samples(WorkStream& stream, const Call& call) {
    base_.drawing = {.key = call.dynamic.key, .epoch = call.dynamic.epoch};
    if (!draws_ || call.dynamic.samples.empty()) return;
    const auto rows =
        std::min<std::size_t>(call.dynamic.samples.size(), static_cast<std::size_t>(space_.rank() ? space_[0] : 1));
    stream.bring(samples_.in(call), call.dynamic.samples.data(), rows * sizeof(std::uint32_t));
    base_.drawing.samples = samples_.in(call);
    base_.drawing.sample_count = static_cast<std::int64_t>(rows);
  }

  // Sums first: elementwise results may overwrite their inputs. A sum that may overlap an input goes to scratch first.
  void run_pieces(WorkStream& stream, const Call& call, std::span<const std::int64_t> lengths) {
    const bool in_pieces = !segments_.empty();
    base_.pieces = static_cast<std::int32_t>(lengths.size());
    for (std::size_t p = 0; p < lengths.size(); ++p) base_.start[p + 1] = base_.start[p] + lengths[p];
    for (std::size_t p = 0; p < lengths.size(); ++p) {
      const Shape piece = in_pieces ? Shape{lengths[p]} : space_;
      operands_for(piece);
      for (std::size_t o = 0; o < out.size(); ++o)
        if (base_.result[o] == no_result) sum(stream, call, p, o, piece);
    }
    operands_for(space_);
    if (compiled_)
      compiled_->launch(stream, ElementRun{{base_.from, lengths.size() * in.size()},
                                           {base_.to, lengths.size() * out.size()},
                                           {base_.start, lengths.size() + 1},
                                           {base_.scalars.value, scalars_}});
    else if (has_elements_)
      each(stream, base_.start[lengths.size()], Elements<steps>{base_});
    for (const auto& [o, held] : held_) // without pieces only
      each(stream, out[o].count(), Moved{{held.in(call), out[o].dtype}, {base_.to[o], out[o].dtype}});
  }

  void operands_for(const Shape& piece) {
    base_.space = Dims(piece);
    base_.row_size = std::max<std::int64_t>(1, piece.past(1));
    for (std::size_t i = 0; i < in.size(); ++i) base_.in[i] = Operand(cut(in[i], piece), piece);
    for (std::size_t o = 0; o < out.size(); ++o) base_.out[o] = Operand(cut(out[o], piece), piece);
  }
  // A tensor's description in a piece that is shorter than the longest.
  TensorDesc cut(const TensorDesc& desc, const Shape& piece) const {
    if (segments_.empty() || desc.shape.rank() == 0 || desc.shape != space_) return desc;
    return {desc.dtype, piece, desc.format};
  }

  void sum(WorkStream& stream, const Call& call, std::size_t piece, std::size_t o, const Shape& space) {
    Summed<steps> body{.all = base_, .piece = static_cast<std::int64_t>(piece), .result = results_[o]};
    const auto held = held_.find(o);
    body.target = {held == held_.end() ? base_.to[piece * out.size() + o] : held->second.in(call), out[o].dtype};
    const std::int64_t rows = space.rank() ? space[0] : 1;
    body.counted = rows_ ? call.counted(rows) : rows;
    body.kept = body.added = Dims(space);
    for (std::size_t axis = 0; axis < space.rank(); ++axis) {
      const bool keeps = out[o].shape.rank() > 0 && out[o].shape[axis] == space[axis];
      (keeps ? body.added : body.kept).size[axis] = 1;
      body.stride[axis] = space.past(axis + 1);
    }
    reduce(stream, out[o].count(), terms_of(o, space), body, sums_in(call));
  }
  std::int64_t terms_of(std::size_t o, const Shape& space) const {
    std::int64_t terms = 1;
    for (std::size_t axis = 0; axis < space.rank(); ++axis)
      if (out[o].shape.rank() == 0 || out[o].shape[axis] != space[axis]) terms *= space[axis];
    return terms;
  }
  bool may_be_read(std::size_t o) const { return segments_.empty() && std::ranges::find(in, out[o]) != in.end(); }

  std::vector<std::int64_t> segments_;
  Shape space_;
  bool rows_, draws_, has_elements_ = false;
  std::size_t scalars_;
  std::vector<std::uint16_t> results_;
  Evaluation<steps> base_{};
  std::unique_ptr<ElementKernel> compiled_;
  Room<std::uint32_t> samples_;
  std::map<std::size_t, Room<std::byte>> held_; // outputs that may overlap an input of the same description
};

// Open formats become that of the other tensors. With channels last all tensors do, and have the shape of the space.
Status settle_formats(MapSpec& spec, const Shape& space) {
  Format settled = Format::plain();
  for (const auto* list : {&spec.in, &spec.out})
    for (const auto& desc : *list)
      if (!desc.format.is_any() && !desc.format.is_plain()) settled = desc.format;
  for (auto* list : {&spec.in, &spec.out})
    for (auto& desc : *list) {
      if (desc.format.is_any()) desc.format = desc.shape == space ? settled : Format::plain();
      if (!settled.is_plain() && (desc.format != settled || desc.shape != space))
        return Status::unsupported("cuda: map takes tensors of one shape and format, or plain ones; ",
                                   to_string(desc.shape), " in ", name_of_format(desc), " cannot be combined with ",
                                   to_string(space), " in ", name_of_format({desc.dtype, space, settled}));
    }
  return {};
}

Status check_map(MapSpec& spec) {
  const Expression& f = spec.expression;
  if (spec.in.size() < f.input_count() || spec.out.size() != f.results().size())
    return Status::invalid("map: the expression has ", f.input_count(), " inputs and ", f.results().size(),
                           " results, but ", spec.in.size(), " and ", spec.out.size(), " tensors are given");
  const auto space = space_of(spec);
  if (!space) return Status::invalid("map: the tensors' shapes cannot be broadcast to one");
  DLHOST_TRY(settle_formats(spec, *space));
  for (auto length : spec.segments)
    if (space->rank() != 1 || length > (*space)[0])
      return Status::invalid("map: segments must be flat, with the descriptions of the longest");
  if (std::max(spec.in.size(), spec.out.size()) > most_operands || f.scalar_count() > most_scalars)
    return Status::unsupported("cuda: a map has at most ", most_operands, " inputs, ", most_operands, " outputs and ",
                               most_scalars, " scalars");
  return {};
}

} // namespace

Prepared prepare_own(const MapSpec& wanted, ElementCompiler* compiler) {
  MapSpec spec = wanted;
  DLHOST_TRY(check_map(spec));
  const Shape space = *space_of(spec);
  if (Steps<32>::fits(spec.expression)) return std::unique_ptr<Op>(std::make_unique<MapOp<32>>(spec, space, compiler));
  if (Steps<128>::fits(spec.expression))
    return std::unique_ptr<Op>(std::make_unique<MapOp<128>>(spec, space, compiler));
  return Status::unsupported("cuda: an expression of ", spec.expression.steps().size(), " steps; at most 128 are done");
}

} // namespace dlhost::plugins::cuda
