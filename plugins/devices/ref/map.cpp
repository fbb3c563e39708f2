#include "evaluate.h"
#include "make.h"

namespace dlhost::plugins::ref {

namespace {

// The strides of a tensor in the space's index: 0 along an axis of size 1.
struct Walk {
  bool whole = true; // has the shape of the space
  Shape space;
  std::array<std::int64_t, max_rank> stride{};

  Walk() = default;
  Walk(const Shape& of, const Shape& all) : whole(of == all), space(all) {
    for (std::size_t axis = 0; axis < of.rank(); ++axis) stride[axis] = of[axis] == 1 ? 0 : of.past(axis + 1);
  }
  std::int64_t at(std::int64_t index) const {
    if (whole) return index;
    std::int64_t place = 0;
    for (std::size_t axis = space.rank(); axis-- > 0; index /= space[axis]) place += index % space[axis] * stride[axis];
    return place;
  }
};

// The broadcast of all tensors; rank 0 stands for a single element. nullopt: they do not fit, or the rank exceeds
// max_rank.
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

template <class T> class Map : public Loops<T> {
 public:
  Map(const MapSpec& spec, const Manner& manner, const Choice& choice)
      : Loops<T>(manner), spec_(spec), space_(*space_of(spec)), block_rows_(spec.rows ? choice.block_samples : 0),
        evaluation_(spec.expression) {
    for (const auto& desc : spec.in) in_.push_back(this->takes(desc));
    for (const auto& desc : spec.out) out_.push_back(this->gives(desc));
    std::int64_t sums = 0;
    for (const auto& result : out_) {
      sum_at_.push_back(result.desc.shape == space_ ? -1 : sums);
      if (sum_at_.back() >= 0) sums += result.desc.count();
    }
    sums_count_ = sums;
    sums_ = this->template room<double>(sums);
    const std::int64_t rows = space_.rank() ? space_[0] : 1;
    partials_ = this->template room<double>(partials_size(rows, block_rows_, sums));
    in_walk_.resize(in_.size());
    out_walk_.resize(out_.size());
  }

  Status compute(const Call& call) override {
    if (spec_.expression.scalar_count() > call.dynamic.scalars.size())
      return Status::invalid("the expression has ", spec_.expression.scalar_count(), " scalars, but ",
                             call.dynamic.scalars.size(), " are given");
    if (spec_.segments.empty()) {
      piece(call, space_, 0);
      return {};
    }
    for (std::size_t s = 0; s < spec_.segments.size(); ++s) piece(call, Shape{spec_.segments[s]}, s);
    return {};
  }

 private:
  // A tensor's description in a piece shorter than the longest.
  TensorDesc cut(const TensorDesc& desc, const Shape& space) const {
    if (spec_.segments.empty() || desc.shape.rank() == 0 || desc.shape != space_) return desc;
    return {desc.dtype, space, desc.format};
  }

  void piece(const Call& call, const Shape& space, std::size_t number) {
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const TensorDesc desc = cut(in_[i].desc, space);
      in_walk_[i] = Walk(desc.shape, space);
      load(desc, call.in[number * in_.size() + i], in_[i].room.in(call));
    }
    for (std::size_t i = 0; i < out_.size(); ++i) out_walk_[i] = Walk(cut(out_[i].desc, space).shape, space);
    double* sums = sums_.in(call);
    const std::int64_t rows = space.rank() ? space[0] : 1;
    sum_in_blocks(
        rows, block_rows_, sums_count_, sums, partials_.in(call),
        [&](std::int64_t first, std::int64_t last, double* into) { elements(call, space, first, last, into); });
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (sum_at_[i] >= 0)
        for (std::int64_t e = 0; e < out_[i].desc.count(); ++e)
          out_[i].fresh(call)[e] = static_cast<T>(sums[sum_at_[i] + e]);
      store(cut(out_[i].desc, space), out_[i].fresh(call), call.out[number * out_.size() + i]);
    }
  }

  void elements(const Call& call, const Shape& space, std::int64_t first, std::int64_t last, double* sums) {
    const std::int64_t row_size = space.past(1);
    const std::int64_t counted = spec_.rows ? counted_rows(call, last) : last;
    const auto& samples = call.dynamic.samples;
    for (std::int64_t row = first; row < last; ++row) {
      const auto at_row = static_cast<std::size_t>(row);
      const std::uint32_t sample = at_row < samples.size() ? samples[at_row] : static_cast<std::uint32_t>(row);
      for (std::int64_t place = 0; place < row_size; ++place) {
        const std::int64_t index = row * row_size + place;
        for (std::size_t i = 0; i < in_.size(); ++i) evaluation_.input(i) = in_[i].fresh(call)[in_walk_[i].at(index)];
        evaluation_.run(call.dynamic, {sample, static_cast<std::uint64_t>(place)});
        for (std::size_t i = 0; i < out_.size(); ++i) {
          const T value = evaluation_.result(i);
          if (sum_at_[i] < 0)
            out_[i].fresh(call)[index] = value;
          else if (row < counted)
            sums[sum_at_[i] + out_walk_[i].at(index)] += static_cast<double>(value);
        }
      }
    }
  }

  MapSpec spec_;
  Shape space_;
  std::int64_t block_rows_;
  Evaluation<T> evaluation_;
  std::vector<Operand<T>> in_, out_;
  std::vector<Walk> in_walk_, out_walk_; // of the current piece
  std::vector<std::int64_t> sum_at_;     // offset of an output's sums; -1: not summed
  std::int64_t sums_count_ = 0;
  Room<double> sums_, partials_;
};

// Resolves `any` to the format of the other tensors.
MapSpec settled(MapSpec spec) {
  std::optional<Format> common;
  for (auto* list : {&spec.in, &spec.out})
    for (auto& desc : *list)
      if (!desc.format.is_any() && !common) common = desc.format;
  for (auto* list : {&spec.in, &spec.out})
    for (auto& desc : *list)
      if (desc.format.is_any()) desc.format = common.value_or(Format::plain());
  return spec;
}

bool one_form(const MapSpec& spec) {
  const TensorDesc& first = spec.in.empty() ? spec.out.front() : spec.in.front();
  for (const auto* list : {&spec.in, &spec.out})
    for (const auto& desc : *list)
      if (desc.shape != first.shape || desc.format != first.format) return false;
  return true;
}

Status check(const MapSpec& spec) {
  const Expression& f = spec.expression;
  if (spec.in.size() < f.input_count() || spec.out.size() != f.results().size())
    return Status::invalid("map: the expression has ", f.input_count(), " inputs and ", f.results().size(),
                           " results, but ", spec.in.size(), " and ", spec.out.size(), " tensors are given");
  const auto space = space_of(spec);
  if (!space) return Status::invalid("map: the tensors' shapes cannot be broadcast to one");
  bool plain = true;
  for (const auto* list : {&spec.in, &spec.out})
    for (const auto& desc : *list) plain = plain && desc.format.is_plain();
  if (!plain && !one_form(spec)) return Status::invalid("map: tensors must be plain, or all of one shape and format");
  for (auto length : spec.segments)
    if (space->rank() != 1 || length > (*space)[0])
      return Status::invalid("map: segments must be flat, with the descriptions of the longest");
  return {};
}

} // namespace

MadeOp make_op(const MapSpec& given, const Manner& manner, const Choice& choice) {
  const MapSpec spec = settled(given);
  DLHOST_TRY(check(spec));
  auto op = in_its_type<Map>(spec, manner, choice);
  std::int64_t elements = 0;
  for (auto length : spec.segments) elements += length;
  if (spec.segments.empty()) elements = space_of(spec)->count();
  op->operations = static_cast<double>(elements) * static_cast<double>(spec.expression.steps().size());
  return op;
}

} // namespace dlhost::plugins::ref
