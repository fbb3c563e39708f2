#include <dlhost/ops.h>

namespace dlhost {

Op::~Op() = default;

std::string_view name_of(const OpSpec& spec) {
  struct Name {
    std::string_view operator()(const GemmSpec&) const { return "gemm"; }
    std::string_view operator()(const ConvSpec&) const { return "conv"; }
    std::string_view operator()(const PoolSpec&) const { return "pool"; }
    std::string_view operator()(const NormSpec&) const { return "norm"; }
    std::string_view operator()(const LrnSpec&) const { return "lrn"; }
    std::string_view operator()(const SoftmaxSpec&) const { return "softmax"; }
    std::string_view operator()(const SoftmaxLossSpec&) const { return "softmax_loss"; }
    std::string_view operator()(const GatherSpec&) const { return "gather"; }
    std::string_view operator()(const MapSpec&) const { return "map"; }
    std::string_view operator()(const ReorderSpec&) const { return "reorder"; }
    std::string_view operator()(const TransposeSpec&) const { return "transpose"; }
    std::string_view operator()(const BoxSpec&) const { return "box"; }
  };
  return std::visit(Name{}, spec);
}

Status PoolSpec::check() const {
  const std::size_t rank = x.shape.rank(), axes = rank < 2 ? 0 : rank - 2;
  if (axes < 1 || axes > 3 || y.shape.rank() != rank || x.shape[0] != y.shape[0] || x.shape[1] != y.shape[1])
    return Status::invalid("pool: x ", to_string(x.shape), " and y ", to_string(y.shape),
                           " must have the same samples and channels, and one to three axes of space");
  for (const auto* list : {&window, &stride, &pad_low, &pad_high})
    if (list->size() != axes)
      return Status::invalid("pool: window, stride and padding need one number for each of ", axes, " axes");
  if (!uncounted.empty() && uncounted.size() != axes)
    return Status::invalid("pool: uncounted has ", uncounted.size(), " numbers, but there are ", axes, " axes");
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t from = x.shape[i + 2], to = y.shape[i + 2];
    const std::int64_t room = from + pad_low[i] + pad_high[i] - window[i];
    if (window[i] < 1 || stride[i] < 1 || room < 0 || room / stride[i] + 1 != to)
      return Status::invalid("pool: a window of ", window[i], " with stride ", stride[i], " and padding ", pad_low[i],
                             " and ", pad_high[i], " does not take ", from, " to ", to);
    if (window[i] <= pad_low[i] || (to - 1) * stride[i] - pad_low[i] >= from)
      return Status::invalid("pool: a window of axis ", i + 2, " lies in the padding alone; make the padding smaller");
    if (!uncounted.empty() && (uncounted[i] < 0 || uncounted[i] > pad_high[i]))
      return Status::invalid("pool: uncounted is ", uncounted[i], ", but the padding at the end of axis ", i + 2,
                             " is ", pad_high[i]);
  }
  return {};
}

Status NormSpec::check() const {
  const std::size_t rank = x.shape.rank();
  if (x.shape != y.shape || rank < 2)
    return Status::invalid("norm: x ", to_string(x.shape), " and y ", to_string(y.shape),
                           " must have one shape, [n, c, ...]");
  if ((kind == Kind::layer || kind == Kind::rms) && (axis < 1 || axis >= rank))
    return Status::invalid("norm: axis is ", axis, ", but x ", to_string(x.shape), " has the axes 1 to ", rank - 1,
                           " beside its samples");
  if (kind == Kind::group && (groups < 1 || x.shape[1] % groups != 0))
    return Status::invalid("norm: ", groups, " groups do not divide the ", x.shape[1], " channels of x ",
                           to_string(x.shape));
  if (given_statistics && kind != Kind::batch)
    return Status::invalid("norm: only batch norm is given statistics; all others make their own");
  return {};
}

Shape NormSpec::params() const {
  if (kind == Kind::batch || kind == Kind::group) return {x.shape[1]};
  return Shape(std::span(x.shape.begin() + axis, x.shape.end()));
}

Shape NormSpec::statistics() const {
  if (kind == Kind::batch) return {x.shape[1]};
  if (kind == Kind::group) return {x.shape[0], groups};
  return Shape(std::span(x.shape.begin(), x.shape.begin() + axis));
}

} // namespace dlhost
