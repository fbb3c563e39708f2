// Batch norm with its epilogue, by channel: the same thread sums a channel over the batch and then normalises it, so
// that the second pass finds it in a cache. The order of sums depends only on the shape.
#include <algorithm>
#include <cmath>

#include <dlhost/parallel.h>

#include "channels.h"
#include "norm.h"

namespace dlhost::plugins::cpu {
namespace {

// With fewer groups of channels, the threads divide the samples as well.
constexpr std::int64_t enough_groups = 8;

// Results of this size would displace other data from the caches and be gone before they are read.
constexpr std::size_t large = std::size_t{12} << 20;

class BatchNorm : public Op {
 protected:
  BatchNorm(const NormSpec& spec, const Channels& channels)
      : spec_(spec), channels_(channels), type_(spec.x.dtype), relu_(spec.epilogue.pointwise.has_value()),
        stream_(bytes_of(spec.x) >= large),
        blocks_(channels.groups() >= enough_groups ? 1
                                                   : std::clamp<std::int64_t>(channels.samples(), 1, enough_groups)) {
    scratch_bytes = static_cast<std::size_t>(channels.groups()) *
                    (sizeof(Numbers) + static_cast<std::size_t>(blocks_) * sizeof(Sums));
    kernel = "channels";
    const TensorDesc param{DType::f32, {spec.x.shape[1]}, {}};
    param_ = param;
  }

  struct Sums {
    double first[wide_group], second[wide_group];
  };
  // Indexed by column of a group.
  struct Numbers {
    float mean[wide_group], factor[wide_group], shift[wide_group], by_x[wide_group], constant[wide_group];
  };

  // Runs all stages for all groups: `sum(group, first sample, last sample, sums)`, `settle(group, sums, numbers)`, then
  // `spread(group, first sample, last sample, numbers)`.
  template <class Sum, class Settle, class Spread>
  void run(void* scratch, bool sums, Sum&& sum, Settle&& settle, Spread&& spread) const {
    auto* numbers = static_cast<Numbers*>(scratch);
    auto* partials = reinterpret_cast<Sums*>(numbers + channels_.groups());
    const auto samples = channels_.samples();
    const auto stage_one = [&](std::int64_t which, std::int64_t block) {
      Sums& part = partials[which * blocks_ + block];
      part = {};
      if (sums) sum(which, samples * block / blocks_, samples * (block + 1) / blocks_, part);
    };
    const auto stage_two = [&](std::int64_t which) {
      Sums total = partials[which * blocks_];
      for (std::int64_t block = 1; block < blocks_; ++block)
        for (std::int64_t i = 0; i < channels_.columns(); ++i) {
          total.first[i] += partials[which * blocks_ + block].first[i];
          total.second[i] += partials[which * blocks_ + block].second[i];
        }
      channels_.fold(total.first);
      channels_.fold(total.second);
      settle(which, total, numbers[which]);
    };
    const auto stage_three = [&](std::int64_t which, std::int64_t block) {
      spread(which, samples * block / blocks_, samples * (block + 1) / blocks_, numbers[which]);
    };
    if (blocks_ == 1) {
      parallel(channels_.groups(), [&](std::int64_t which) {
        stage_one(which, 0);
        stage_two(which);
        stage_three(which, 0);
      });
      return;
    }
    const auto tasks = channels_.groups() * blocks_;
    parallel(tasks, [&](std::int64_t task) { stage_one(task / blocks_, task % blocks_); });
    for (std::int64_t which = 0; which < channels_.groups(); ++which) stage_two(which);
    parallel(tasks, [&](std::int64_t task) { stage_three(task / blocks_, task % blocks_); });
  }

  std::int64_t counted(const Dynamic& dynamic) const {
    return dynamic.valid < 0 ? channels_.samples() : std::min(dynamic.valid, channels_.samples());
  }
  // call(column, channel): all columns of a channel have the same numbers.
  template <class Call> void each_channel(std::int64_t which, Call&& call) const {
    for (std::int64_t i = 0; i < channels_.columns(); ++i)
      if (const auto channel = channels_.channel_of(which, i); channel < channels_.channels()) call(i, channel);
  }
  void scale_and_shift(Numbers& n, std::int64_t i, double mean, double variance, float scale, float shift) const {
    n.mean[i] = static_cast<float>(mean);
    n.factor[i] = scale * inverse(variance);
    n.shift[i] = shift - n.mean[i] * n.factor[i];
  }
  float inverse(double variance) const { return static_cast<float>(1 / std::sqrt(variance + spec_.epsilon)); }

  NormSpec spec_;
  Channels channels_;
  DType type_;
  bool relu_;
  bool stream_;         // results are larger than the caches
  std::int64_t blocks_; // of samples
  TensorDesc param_;
};

class BatchNormFeature final : public BatchNorm {
 public:
  BatchNormFeature(const NormSpec& spec, const Channels& channels) : BatchNorm(spec, channels) {
    in = {spec.x, param_, param_};
    out = {spec.y};
    auto& statistics = spec.given_statistics ? in : out;
    statistics.insert(statistics.end(), {param_, param_});
    if (spec.epilogue.add) in.push_back(spec.y);
    operations = 6.0 * static_cast<double>(spec.x.count());
  }

  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic& dynamic) override {
    const auto* scale = static_cast<const float*>(inputs[1]);
    const auto* shift = static_cast<const float*>(inputs[2]);
    const void* addend = spec_.epilogue.add ? inputs.back() : nullptr;
    const auto rows = counted(dynamic);
    const auto per_channel = static_cast<double>(std::max<std::int64_t>(1, rows * channels_.per_sample()));
    const auto sum = [&](std::int64_t which, std::int64_t first, std::int64_t last, Sums& sums) {
      float pivot[wide_group];
      channels_.read_first(type_, inputs[0], 0, which, pivot);
      for (auto sample = first; sample < std::min(last, rows); ++sample)
        channels_.each_piece(sample, which, [&](const Channels::Piece& p) {
          channel_kernels().moments(type_, {inputs[0], nullptr, nullptr, p.offset, p.rows, p.step, p.width}, pivot,
                                    sums.first, sums.second);
        });
    };
    const auto settle = [&](std::int64_t which, const Sums& sums, Numbers& numbers) {
      float pivot[wide_group];
      channels_.read_first(type_, inputs[0], 0, which, pivot);
      numbers = {};
      each_channel(which, [&](std::int64_t i, std::int64_t channel) {
        double mean = 0, variance = 0;
        if (spec_.given_statistics) {
          mean = static_cast<double>(static_cast<const float*>(inputs[3])[channel]);
          variance = static_cast<double>(static_cast<const float*>(inputs[4])[channel]);
        } else {
          const double distance = sums.first[i] / per_channel;
          mean = static_cast<double>(static_cast<float>(static_cast<double>(pivot[i]) + distance));
          variance = static_cast<double>(
              static_cast<float>(std::max(0.0, sums.second[i] / per_channel - distance * distance)));
          static_cast<float*>(outputs[1])[channel] = static_cast<float>(mean);
          static_cast<float*>(outputs[2])[channel] = static_cast<float>(variance);
        }
        scale_and_shift(numbers, i, mean, variance, scale[channel], shift[channel]);
      });
    };
    const auto spread = [&](std::int64_t which, std::int64_t first, std::int64_t last, const Numbers& numbers) {
      for (auto sample = first; sample < last; ++sample)
        channels_.each_piece(sample, which, [&](const Channels::Piece& p) {
          channel_kernels().apply(type_, {inputs[0], addend, outputs[0], p.offset, p.rows, p.step, p.width, stream_},
                                  numbers.factor, numbers.shift, relu_);
        });
    };
    run(scratch, !spec_.given_statistics, sum, settle, spread);
  }
};

class BatchNormGradient final : public BatchNorm {
 public:
  BatchNormGradient(const NormSpec& spec, const Channels& channels) : BatchNorm(spec, channels) {
    in = {spec.x, spec.y, param_, param_, param_, param_};
    out = {spec.x, param_, param_};
    mask_ = add_epilogue_operands(spec, *this);
    operations = 12.0 * static_cast<double>(spec.x.count());
  }

  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic& dynamic) override {
    const auto number = [&](std::size_t i, std::int64_t channel) {
      return static_cast<const float*>(inputs[i])[channel];
    };
    const void* y = mask_ == Mask::from_output ? inputs[6] : nullptr;
    void* daddend = spec_.epilogue.add ? outputs[3] : nullptr;
    const auto rows = counted(dynamic);
    const auto per_channel = static_cast<double>(std::max<std::int64_t>(1, rows * channels_.per_sample()));
    const auto rows_of = [&](const Channels::Piece& p) {
      return GradientRows{inputs[0], inputs[1], y, outputs[0], daddend, p.offset, p.rows, p.step, p.width, stream_};
    };
    const auto sum = [&](std::int64_t which, std::int64_t first, std::int64_t last, Sums& sums) {
      Numbers n{};
      each_channel(which, [&](std::int64_t i, std::int64_t c) {
        scale_and_shift(n, i, number(4, c), number(5, c), number(2, c), number(3, c));
      });
      for (auto sample = first; sample < std::min(last, rows); ++sample)
        channels_.each_piece(sample, which, [&](const Channels::Piece& p) {
          channel_kernels().slopes(type_, mask_, rows_of(p), n.factor, n.shift, n.mean, sums.first, sums.second);
        });
    };
    const auto settle = [&](std::int64_t which, const Sums& sums, Numbers& n) {
      n = {};
      each_channel(which, [&](std::int64_t i, std::int64_t c) {
        scale_and_shift(n, i, number(4, c), number(5, c), number(2, c), number(3, c));
        const auto inverted = static_cast<double>(inverse(number(5, c)));
        static_cast<float*>(outputs[1])[c] = static_cast<float>(sums.second[i] * inverted);
        static_cast<float*>(outputs[2])[c] = static_cast<float>(sums.first[i]);
        if (spec_.given_statistics) return;
        const double factor = static_cast<double>(n.factor[i]);
        const double by_x = -factor * inverted * inverted * sums.second[i] / per_channel;
        n.by_x[i] = static_cast<float>(by_x);
        n.constant[i] = static_cast<float>(-factor * sums.first[i] / per_channel - by_x * number(4, c));
      });
    };
    const auto spread = [&](std::int64_t which, std::int64_t first, std::int64_t last, const Numbers& n) {
      constexpr float nothing[wide_group] = {};
      for (auto sample = first; sample < last; ++sample) {
        const bool counts = sample < rows;
        channels_.each_piece(sample, which, [&](const Channels::Piece& p) {
          channel_kernels().gradient(type_, mask_, rows_of(p), n.factor, n.shift, counts ? n.by_x : nothing,
                                     counts ? n.constant : nothing);
        });
      }
    };
    run(scratch, true, sum, settle, spread);
  }

 private:
  Mask mask_ = Mask::none;
};

} // namespace

Prepared prepare_batch_norm(const NormSpec& wanted) {
  NormSpec spec = wanted;
  DLHOST_TRY(settle_alike(spec));
  const auto refused = refused_by_channel(spec.epilogue);
  if (!refused.empty()) spec.epilogue = {};
  DLHOST_ASSIGN(const auto channels, Channels::of(spec.x, wide_group));
  std::unique_ptr<Op> op;
  if (spec.role == Role::feature)
    op = std::make_unique<BatchNormFeature>(spec, channels);
  else
    op = std::make_unique<BatchNormGradient>(spec, channels);
  op->epilogue_taken = refused.empty();
  op->remark = refused;
  return op;
}

} // namespace dlhost::plugins::cpu
