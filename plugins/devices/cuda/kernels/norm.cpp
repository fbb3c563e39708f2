// Batch norm, layer norm, group norm and RMS norm. Own kernels, since the contract needs statistics of the first rows
// only, any epsilon and epilogue, and variances rather than their inverse roots; cuDNN offers none of these.
#include <optional>

#include "finish.h"
#include "launch.h"
#include "norm_columns.h"
#include "norm_elements.h"
#include "prepare.h"

namespace dlhost::plugins::cuda {

namespace {

class Norm final : public KernelOp {
 public:
  explicit Norm(const NormSpec& spec)
      : batch_(spec.kind == NormSpec::Kind::batch), rms_(spec.kind == NormSpec::Kind::rms),
        feature_(spec.role == Role::feature), given_(spec.given_statistics), epsilon_(static_cast<float>(spec.epsilon)),
        rows_(spec.x.shape[0]), row_(spec.x.shape.past(1)), places_(spec.x.shape.past(2)),
        groups_(NormGroups::of(spec)) {
    take_epilogue(spec.epilogue);
    relu_ = function_.result >= 0 && spec.epilogue.pointwise->known == Known::relu;
    columns_ = batch_ && groups_.inner == 1 && spec.x.dtype == spec.y.dtype && (relu_ || function_.result < 0) &&
               (spec.x.dtype == DType::f32 || spec.x.dtype == DType::bf16 || spec.x.dtype == DType::f16);
    if (columns_ && relu_ && !adds_) from_output_ = false; // x gives the sign, and is read anyway
    const TensorDesc param{DType::f32, spec.params(), {}}, statistic{DType::f32, spec.statistics(), {}};
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
  // Declines if the gradient needs the sum with the addend: it is not stored.
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
    in = {spec.x, param};
    if (!rms_) in.push_back(param);
    if (given_) in.insert(in.end(), {statistic, statistic});
    out = {spec.y};
    if (adds_) in.push_back(out[0]);
    if (given_) return;
    if (!rms_) out.push_back(statistic);
    out.push_back(statistic);
    if (columns_)
      column_sums_ = room<std::byte>(static_cast<std::int64_t>(column_room<Spread>(most_terms(), groups_.params)));
    else if (rms_)
      sums<MeanSquares>(groups_.statistics, most_terms());
    else
      sums<Statistics>(groups_.statistics, most_terms());
    settle_sums();
  }
  void gradient_operands(const NormSpec& spec, const TensorDesc& param, const TensorDesc& statistic) {
    in = {spec.x, spec.y, param};
    if (!rms_) in.insert(in.end(), {param, statistic});
    in.push_back(statistic);
    if (from_output_) in.push_back(in[1]);
    out = {spec.x, param};
    if (!rms_) out.push_back(param);
    if (adds_) out.push_back(in[1]);
    if (columns_) {
      column_sums_ = room<std::byte>(static_cast<std::int64_t>(column_room<Pair>(most_terms(), groups_.params)));
      return;
    }
    if (!batch_) {
      if (!rms_) means_ = room<float>(groups_.statistics);
      slopes_ = room<float>(groups_.statistics);
      sums<StatisticGradients>(groups_.statistics, most_terms());
    }
    sums<ParamGradients>(groups_.params, groups_.count / std::max<std::int64_t>(groups_.params, 1));
    settle_sums();
  }

  // Terms of a statistic if all rows count. Fewer rows are never split into more parts.
  std::int64_t most_terms() const { return terms(rows_); }
  std::int64_t terms(std::int64_t counted) const { return batch_ ? counted * places_ : groups_.together; }

  static const float* floats(const Call& call, std::size_t i) { return static_cast<const float*>(call.in[i]); }

  // Four at a time, for narrow types too: eight took a third longer on an H200, since a thread keeps more state for
  // each.
  void feature_by_columns(WorkStream& stream, const Call& call) {
    ChannelParams params{floats(call, 1), floats(call, 2), nullptr, nullptr, epsilon_};
    const void* addend = adds_ ? call.in[in.size() - 1] : nullptr;
    auto *mean = given_ ? nullptr : static_cast<float*>(call.out[1]),
         *variance = given_ ? nullptr : static_cast<float*>(call.out[2]);
    params.mean = given_ ? floats(call, 3) : mean;
    params.variance = given_ ? floats(call, 4) : variance;
    by_type_and_width<4>(in[0].dtype, groups_.params, {call.in[0], addend, call.out[0]}, [&](auto type, auto width) {
      using T = decltype(type);
      constexpr int wide = decltype(width)::value;
      if (!given_)
        reduce_columns(stream, terms(call.counted(rows_)), groups_.params,
                       ColumnStatistics<T, wide>{call.in[0], groups_.params, mean, variance}, column_sums_.in(call));
      each_row(stream, most_terms(), groups_.params,
               ColumnNorm<T, wide>{params, groups_.params, relu_, call.in[0], addend, call.out[0]});
    });
  }

  void gradient_by_columns(WorkStream& stream, const Call& call) {
    const ChannelParams params{floats(call, 2), floats(call, 3), floats(call, 4), floats(call, 5), epsilon_};
    const void* y = from_output_ ? call.in[6] : nullptr;
    void* daddend = adds_ ? call.out[3] : nullptr;
    auto *dscale = static_cast<float*>(call.out[1]), *dshift = static_cast<float*>(call.out[2]);
    const std::int64_t counted = terms(call.counted(rows_));
    by_type_and_width<4>(
        in[0].dtype, groups_.params, {call.in[0], call.in[1], y, call.out[0], daddend}, [&](auto type, auto width) {
          using T = decltype(type);
          constexpr int wide = decltype(width)::value;
          const ColumnThrough<T, wide> through{groups_.params, relu_, call.in[0], call.in[1], y};
          reduce_columns(stream, counted, groups_.params,
                         ColumnParamGradients<T, wide>{params, through, dscale, dshift}, column_sums_.in(call));
          each_row(stream, most_terms(), groups_.params,
                   ColumnNormGradient<T, wide>{params, through, given_ ? nullptr : dscale, given_ ? nullptr : dshift,
                                               1 / static_cast<float>(std::max<std::int64_t>(counted, 1)), counted,
                                               call.out[0], daddend});
        });
  }

  void feature(WorkStream& stream, const Call& call) {
    if (columns_) return feature_by_columns(stream, call);
    Normal normal{groups_, epsilon_, {call.in[0], in[0].dtype}, floats(call, 1), nullptr, nullptr, nullptr};
    if (!rms_) normal.shift = floats(call, 2);
    if (given_) {
      normal.mean = floats(call, 3);
      normal.variance = floats(call, 4);
    } else if (rms_) {
      auto* square = static_cast<float*>(call.out[1]);
      reduce(stream, groups_.statistics, most_terms(), MeanSquares{groups_, normal.x, square}, sums_in(call));
      normal.variance = square;
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
    Normal normal{groups_, epsilon_, {call.in[0], in[0].dtype}, floats(call, 2), nullptr, nullptr, nullptr};
    if (!rms_) {
      normal.shift = floats(call, 3);
      normal.mean = floats(call, 4);
    }
    normal.variance = floats(call, rms_ ? 3 : 5);
    const Source y = from_output_ ? Source{call.in[in.size() - 1], in.back().dtype} : Source{};
    const Through through{normal, {call.in[1], in[1].dtype}, y, slope_};
    const std::int64_t counted = batch_ ? call.counted(rows_) : rows_, together = terms(counted);
    auto* dscale = static_cast<float*>(call.out[1]);
    auto* dshift = rms_ ? nullptr : static_cast<float*>(call.out[2]);
    reduce(stream, groups_.params, batch_ ? together : groups_.count / std::max<std::int64_t>(groups_.params, 1),
           ParamGradients{through, dscale, dshift}, sums_in(call));
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
      float *means = rms_ ? nullptr : means_.in(call), *slopes = slopes_.in(call);
      reduce(stream, groups_.statistics, together, StatisticGradients{through, means, slopes}, sums_in(call));
      last.means = means;
      last.slopes = slopes;
    }
    if (adds_) last.daddend = {call.out[out.size() - 1], out.back().dtype};
    each(stream, groups_.count, last);
  }

  bool batch_, rms_, feature_, given_, adds_ = false, from_output_ = false, relu_ = false, columns_ = false;
  float epsilon_;
  std::int64_t rows_, row_, places_; // elements of a sample, and of one of its channels
  NormGroups groups_;
  Function function_, slope_;
  Room<float> means_, slopes_;
  Room<std::byte> column_sums_;
};

} // namespace

Prepared prepare_own(const NormSpec& wanted) {
  DLHOST_TRY(wanted.check());
  NormSpec spec = wanted;
  if (spec.kind == NormSpec::Kind::batch || spec.kind == NormSpec::Kind::group) {
    DLHOST_TRY(settle("norm", spec.x, spec.y));
  } else {
    DLHOST_TRY(need_plain("norm over the last axes", {&spec.x, &spec.y}));
    spec.x = plain_of(spec.x);
    spec.y = plain_of(spec.y);
  }
  return std::unique_ptr<Op>(std::make_unique<Norm>(spec));
}

} // namespace dlhost::plugins::cuda
