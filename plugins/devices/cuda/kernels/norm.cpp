// Batch norm and layer norm. Ours, since the contract wants statistics of the first rows only, any epsilon and
// epilogue, and variances rather than their inverse roots; cuDNN has none of these.
#include <optional>

#include "finish.h"
#include "launch.h"
#include "norm_columns.h"
#include "prepare.h"

namespace dlhost::plugins::cuda {

namespace {

// Which elements share a statistic, and which a scale.
struct NormGroups {
  bool batch = true;
  std::int64_t inner = 1, size = 1; // batch: elements behind the channel, channels; layer: 1, elements together
  std::int64_t statistics = 1, count = 0;

  DLHOST_BODY std::int64_t statistic(std::int64_t i) const {
    return batch ? quotient(i, inner) % size : quotient(i, size);
  }
  DLHOST_BODY std::int64_t param(std::int64_t i) const { return batch ? quotient(i, inner) % size : i % size; }
  // Element `term` of those that share a statistic; for layer norm also of those that share a scale.
  DLHOST_BODY std::int64_t of_statistic(std::int64_t s, std::int64_t term) const {
    if (!batch) return s * size + term;
    const std::int64_t n = quotient(term, inner);
    return (n * size + s) * inner + (term - n * inner);
  }
  DLHOST_BODY std::int64_t of_param(std::int64_t p, std::int64_t term) const {
    return batch ? of_statistic(p, term) : term * size + p;
  }
};

struct Statistics {
  using Sum = Spread;
  NormGroups groups;
  Source x;
  float *mean, *variance;
  DLHOST_BODY Sum zero() const { return {}; }
  DLHOST_BODY void take(Sum& sum, std::int64_t s, std::int64_t term) const {
    sum.take(x[groups.of_statistic(s, term)]);
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum.join(other); }
  DLHOST_BODY void finish(std::int64_t s, const Sum& sum) const {
    mean[s] = sum.mean();
    variance[s] = sum.variance();
  }
};

struct Normal {
  NormGroups groups;
  float epsilon;
  Source x;
  const float *scale, *shift, *mean, *variance;

  DLHOST_BODY float inverse(std::int64_t s) const { return 1 / std::sqrt(variance[s] + epsilon); }
  DLHOST_BODY float normalised(std::int64_t i, std::int64_t s) const { return (x[i] - mean[s]) * inverse(s); }
};

struct NormFeature {
  Normal normal;
  Target y;
  Finish finish;
  DLHOST_BODY void operator()(std::int64_t i) const {
    const std::int64_t p = normal.groups.param(i);
    const float value = normal.normalised(i, normal.groups.statistic(i)) * normal.scale[p] + normal.shift[p];
    y.set(i, finish(i, value));
  }
};

// dy before the epilogue.
struct Through {
  Normal normal;
  Source dy, y; // y.data null: the slope is found from x
  Function slope;

  DLHOST_BODY float operator()(std::int64_t i, float normalised) const {
    if (slope.result < 0) return dy[i];
    const std::int64_t p = normal.groups.param(i);
    return dy[i] * slope(y.data ? y[i] : normalised * normal.scale[p] + normal.shift[p]);
  }
};

// The gradients of scale and shift.
struct ParamGradients {
  using Sum = Pair;
  Through through;
  float *dscale, *dshift;
  DLHOST_BODY Sum zero() const { return {0, 0}; }
  DLHOST_BODY void take(Sum& sum, std::int64_t p, std::int64_t term) const {
    const std::int64_t i = through.normal.groups.of_param(p, term);
    const float x = through.normal.normalised(i, through.normal.groups.statistic(i)), dy = through(i, x);
    sum.shift += dy;
    sum.scale += dy * x;
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum.join(other); }
  DLHOST_BODY void finish(std::int64_t p, const Sum& sum) const {
    dshift[p] = sum.shift;
    dscale[p] = sum.scale;
  }
};

// What dx loses through the mean and the variance, of layer norm.
struct StatisticGradients {
  using Sum = Pair;
  Through through;
  float *means, *slopes;
  DLHOST_BODY Sum zero() const { return {0, 0}; }
  DLHOST_BODY void take(Sum& sum, std::int64_t s, std::int64_t term) const {
    const std::int64_t i = through.normal.groups.of_statistic(s, term);
    const float x = through.normal.normalised(i, s);
    const float dy = through(i, x) * through.normal.scale[through.normal.groups.param(i)];
    sum.shift += dy;
    sum.scale += dy * x;
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum.join(other); }
  DLHOST_BODY void finish(std::int64_t s, const Sum& sum) const {
    means[s] = sum.shift;
    slopes[s] = sum.scale;
  }
};

struct NormGradient {
  Through through;
  const float *means, *slopes; // null: the statistics were given, and are constants
  bool unscaled;               // means and slopes are of dy without the scale: of batch norm, the params' gradients
  float each_part;             // one over the elements of a statistic
  std::int64_t counted;        // elements, from the first on
  Target dx, daddend;
  DLHOST_BODY void operator()(std::int64_t i) const {
    const Normal& normal = through.normal;
    const std::int64_t s = normal.groups.statistic(i);
    const float x = normal.normalised(i, s), dy = through(i, x);
    if (daddend.data) daddend.set(i, dy);
    const float scale = normal.scale[normal.groups.param(i)];
    float inner = dy * scale;
    if (means && i < counted) inner -= (means[s] + x * slopes[s]) * (unscaled ? scale * each_part : each_part);
    dx.set(i, inner * normal.inverse(s));
  }
};

class Norm final : public KernelOp {
 public:
  explicit Norm(const NormSpec& spec)
      : batch_(spec.kind == NormSpec::Kind::batch), feature_(spec.role == Role::feature), given_(spec.given_statistics),
        epsilon_(static_cast<float>(spec.epsilon)), rows_(spec.x.shape[0]), row_(spec.x.shape.past(1)),
        places_(spec.x.shape.past(2)) {
    groups_.batch = batch_;
    groups_.count = spec.x.count();
    groups_.inner = batch_ && spec.x.format.is_plain() ? spec.x.shape.past(2) : 1;
    groups_.size = batch_ ? spec.x.shape[1] : spec.x.shape.past(spec.axis);
    groups_.statistics = batch_ ? groups_.size : groups_.count / std::max<std::int64_t>(groups_.size, 1);
    take_epilogue(spec.epilogue);
    relu_ = function_.result >= 0 && spec.epilogue.pointwise->known == Known::relu;
    columns_ = batch_ && groups_.inner == 1 && spec.x.dtype == spec.y.dtype && (relu_ || function_.result < 0) &&
               (spec.x.dtype == DType::f32 || spec.x.dtype == DType::bf16 || spec.x.dtype == DType::f16);
    if (columns_ && relu_ && !adds_) from_output_ = false; // x says where the slope is 0, and is read anyway
    Shape scales{groups_.size};
    if (!batch_) scales = Shape(std::span(spec.x.shape.begin() + spec.axis, spec.x.shape.end()));
    const TensorDesc param{DType::f32, scales, {}}, statistic{DType::f32, {groups_.statistics}, {}};
    if (feature_)
      feature_operands(spec, param, statistic);
    else
      gradient_operands(spec, param, statistic);
    kernel = "cuda norm";
    operations = static_cast<double>(groups_.count) * (feature_ ? 6 : 12);
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    if (feature_)
      feature(stream, call);
    else
      gradient(stream, call);
  }

 private:
  // Where the gradient would need the sum that the addend went into, nobody has it any more.
  void take_epilogue(const Epilogue& epilogue) {
    const auto function = function_of(epilogue);
    const auto slope = epilogue.pointwise ? Function::of(epilogue.pointwise->gradient) : Function{};
    epilogue_taken = function && slope && (!epilogue.pointwise || epilogue.pointwise->from_output || !epilogue.add);
    if (!epilogue_taken) {
      remark = function && slope ? "the epilogue's gradient would need the sum before it"
                                 : "the epilogue's function is not one of one input, or too long";
      return;
    }
    function_ = *function;
    slope_ = *slope;
    adds_ = epilogue.add;
    from_output_ = epilogue.pointwise && epilogue.pointwise->from_output;
  }

  void feature_operands(const NormSpec& spec, const TensorDesc& param, const TensorDesc& statistic) {
    in = {spec.x, param, param};
    if (given_) in.insert(in.end(), {statistic, statistic});
    out = {spec.y};
    if (adds_) in.push_back(out[0]);
    if (given_) return;
    out.insert(out.end(), {statistic, statistic});
    if (columns_)
      column_sums_ = room<std::byte>(static_cast<std::int64_t>(column_room<Spread>(most_terms(), groups_.size)));
    else
      sums<Statistics>(groups_.statistics, most_terms());
    settle_sums();
  }
  void gradient_operands(const NormSpec& spec, const TensorDesc& param, const TensorDesc& statistic) {
    in = {spec.x, spec.y, param, param, statistic, statistic};
    if (from_output_) in.push_back(in[1]);
    out = {spec.x, param, param};
    if (adds_) out.push_back(in[1]);
    if (columns_) {
      column_sums_ = room<std::byte>(static_cast<std::int64_t>(column_room<Pair>(most_terms(), groups_.size)));
      return;
    }
    if (!batch_) {
      means_ = room<float>(groups_.statistics);
      slopes_ = room<float>(groups_.statistics);
      sums<StatisticGradients>(groups_.statistics, most_terms());
    }
    sums<ParamGradients>(groups_.size, batch_ ? most_terms() : groups_.statistics);
    settle_sums();
  }

  // Of a statistic, with all rows counted. Fewer rows are cut into no more parts.
  std::int64_t most_terms() const { return terms(rows_); }
  std::int64_t terms(std::int64_t counted) const { return batch_ ? counted * places_ : groups_.size; }

  static const float* floats(const Call& call, std::size_t i) { return static_cast<const float*>(call.in[i]); }

  // Four at a time, of narrow types too: eight took a third longer on an H200, since a thread keeps so much of each.
  void feature_by_columns(WorkStream& stream, const Call& call) {
    ChannelParams params{floats(call, 1), floats(call, 2), nullptr, nullptr, epsilon_};
    const void* addend = adds_ ? call.in[in.size() - 1] : nullptr;
    auto *mean = given_ ? nullptr : static_cast<float*>(call.out[1]),
         *variance = given_ ? nullptr : static_cast<float*>(call.out[2]);
    params.mean = given_ ? floats(call, 3) : mean;
    params.variance = given_ ? floats(call, 4) : variance;
    by_type_and_width<4>(in[0].dtype, groups_.size, {call.in[0], addend, call.out[0]}, [&](auto type, auto width) {
      using T = decltype(type);
      constexpr int wide = decltype(width)::value;
      if (!given_)
        reduce_columns(stream, terms(call.counted(rows_)), groups_.size,
                       ColumnStatistics<T, wide>{call.in[0], groups_.size, mean, variance}, column_sums_.in(call));
      each_row(stream, most_terms(), groups_.size,
               ColumnNorm<T, wide>{params, groups_.size, relu_, call.in[0], addend, call.out[0]});
    });
  }

  void gradient_by_columns(WorkStream& stream, const Call& call) {
    const ChannelParams params{floats(call, 2), floats(call, 3), floats(call, 4), floats(call, 5), epsilon_};
    const void* y = from_output_ ? call.in[6] : nullptr;
    void* daddend = adds_ ? call.out[3] : nullptr;
    auto *dscale = static_cast<float*>(call.out[1]), *dshift = static_cast<float*>(call.out[2]);
    const std::int64_t counted = terms(call.counted(rows_));
    by_type_and_width<4>(
        in[0].dtype, groups_.size, {call.in[0], call.in[1], y, call.out[0], daddend}, [&](auto type, auto width) {
          using T = decltype(type);
          constexpr int wide = decltype(width)::value;
          const ColumnThrough<T, wide> through{groups_.size, relu_, call.in[0], call.in[1], y};
          reduce_columns(stream, counted, groups_.size, ColumnParamGradients<T, wide>{params, through, dscale, dshift},
                         column_sums_.in(call));
          each_row(stream, most_terms(), groups_.size,
                   ColumnNormGradient<T, wide>{params, through, given_ ? nullptr : dscale, given_ ? nullptr : dshift,
                                               1 / static_cast<float>(std::max<std::int64_t>(counted, 1)), counted,
                                               call.out[0], daddend});
        });
  }

  void feature(WorkStream& stream, const Call& call) {
    if (columns_) return feature_by_columns(stream, call);
    Normal normal{groups_, epsilon_, {call.in[0], in[0].dtype}, floats(call, 1), floats(call, 2), nullptr, nullptr};
    if (given_) {
      normal.mean = floats(call, 3);
      normal.variance = floats(call, 4);
    } else {
      auto *mean = static_cast<float*>(call.out[1]), *variance = static_cast<float*>(call.out[2]);
      reduce(stream, groups_.statistics, terms(call.counted(rows_)), Statistics{groups_, normal.x, mean, variance},
             sums_in(call));
      normal.mean = mean;
      normal.variance = variance;
    }
    Finish finish;
    finish.function = function_;
    if (adds_) finish.addend = {call.in[in.size() - 1], in.back().dtype};
    each(stream, groups_.count, NormFeature{normal, {call.out[0], out[0].dtype}, finish});
  }

  void gradient(WorkStream& stream, const Call& call) {
    if (columns_) return gradient_by_columns(stream, call);
    const Normal normal{groups_,         epsilon_,       {call.in[0], in[0].dtype}, floats(call, 2), floats(call, 3),
                        floats(call, 4), floats(call, 5)};
    const Source y = from_output_ ? Source{call.in[6], in[6].dtype} : Source{};
    const Through through{normal, {call.in[1], in[1].dtype}, y, slope_};
    const std::int64_t counted = batch_ ? call.counted(rows_) : rows_, together = terms(counted);
    auto *dscale = static_cast<float*>(call.out[1]), *dshift = static_cast<float*>(call.out[2]);
    reduce(stream, groups_.size, batch_ ? together : groups_.statistics, ParamGradients{through, dscale, dshift},
           sums_in(call));
    NormGradient last{.through = through,
                      .means = nullptr,
                      .slopes = nullptr,
                      .unscaled = batch_,
                      .each_part = 1 / static_cast<float>(std::max<std::int64_t>(together, 1)),
                      .counted = counted * row_,
                      .dx = {call.out[0], out[0].dtype},
                      .daddend = {}};
    if (!given_ && batch_) {
      last.means = dshift;
      last.slopes = dscale;
    } else if (!given_) {
      reduce(stream, groups_.statistics, together, StatisticGradients{through, means_.in(call), slopes_.in(call)},
             sums_in(call));
      last.means = means_.in(call);
      last.slopes = slopes_.in(call);
    }
    if (adds_) last.daddend = {call.out[3], out[3].dtype};
    each(stream, groups_.count, last);
  }

  bool batch_, feature_, given_, adds_ = false, from_output_ = false, relu_ = false, columns_ = false;
  float epsilon_;
  std::int64_t rows_, row_, places_; // a sample's elements, and those of one of its channels
  NormGroups groups_;
  Function function_, slope_;
  Room<float> means_, slopes_;
  Room<std::byte> column_sums_;
};

} // namespace

Prepared prepare_own(const NormSpec& wanted) {
  NormSpec spec = wanted;
  const bool batch = spec.kind == NormSpec::Kind::batch;
  if (batch) {
    DLHOST_TRY(settle("norm", spec.x, spec.y));
  } else {
    DLHOST_TRY(need_plain("layer norm", {&spec.x, &spec.y}));
    spec.x = plain_of(spec.x);
    spec.y = plain_of(spec.y);
  }
  const std::size_t rank = spec.x.shape.rank();
  if (spec.x.shape != spec.y.shape || rank < 2 || (!batch && (spec.axis < 1 || spec.axis >= rank)))
    return Status::invalid("norm: x ", to_string(spec.x.shape), " and y ", to_string(spec.y.shape),
                           " must have one shape, [n, c, ...]; layer norm is over axes from 1 or more on");
  if (!batch && spec.given_statistics) return Status::invalid("norm: layer norm makes its statistics itself");
  return std::unique_ptr<Op>(std::make_unique<Norm>(spec));
}

} // namespace dlhost::plugins::cuda
