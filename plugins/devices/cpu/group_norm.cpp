// Group norm with its epilogue, by channel: sums each channel of a sample, computes a group's numbers from its
// channels', and normalises the channels. A sample's results depend on that sample alone; sums over samples are made in
// order.
#include <algorithm>
#include <cmath>

#include <dlhost/parallel.h>

#include "channels.h"
#include "norm.h"

namespace dlhost::plugins::cpu {
namespace {

class GroupNorm : public Op {
 protected:
  GroupNorm(const NormSpec& spec, const Channels& channels)
      : spec_(spec), channels_(channels), type_(spec.x.dtype), relu_(spec.epilogue.pointwise.has_value()),
        stream_(bytes_of(spec.x) >= larger_than_caches), together_(spec.x.shape[1] / spec.groups),
        elements_(static_cast<double>(together_ * channels.per_sample())), param_{DType::f32, spec.params(), {}},
        statistic_{DType::f32, spec.statistics(), {}} {
    scratch_bytes = static_cast<std::size_t>(spec.x.shape[0] * spec.x.shape[1]) * sizeof(Sums);
    kernel = "channels";
  }

  // The sums of one channel of a sample, in the scratch.
  struct Sums {
    double first, second;
  };
  // Indexed by neighbouring column.
  struct Numbers {
    float mean[wide_group] = {}, factor[wide_group] = {}, shift[wide_group] = {}, by_x[wide_group] = {};
    float constant[wide_group] = {};
  };

  // Runs the stages of each sample: `sum(sample, which)`, `settle(sample)`, `spread(sample, which)`. With enough
  // samples each stays on one thread, in its cache.
  template <class Sum, class Settle, class Spread> void run(Sum&& sum, Settle&& settle, Spread&& spread) const {
    const auto samples = channels_.samples(), groups = channels_.groups();
    if (samples >= parallel_threads()) {
      parallel_ranges(samples, 1, [&](std::int64_t first, std::int64_t last) {
        for (auto sample = first; sample < last; ++sample) {
          for (std::int64_t which = 0; which < groups; ++which) sum(sample, which);
          settle(sample);
          for (std::int64_t which = 0; which < groups; ++which) spread(sample, which);
        }
      });
      return;
    }
    parallel_ranges(samples * groups, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto task = first; task < last; ++task) sum(task / groups, task % groups);
    });
    for (std::int64_t sample = 0; sample < samples; ++sample) settle(sample);
    parallel_ranges(samples * groups, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto task = first; task < last; ++task) spread(task / groups, task % groups);
    });
  }

  Sums* sums_of(void* scratch, std::int64_t sample) const {
    return static_cast<Sums*>(scratch) + sample * channels_.channels();
  }
  // Folds the columns' sums into their channels'.
  void keep(double* first, double* second, std::int64_t which, Sums* sums) const {
    channels_.fold(first);
    channels_.fold(second);
    for (std::int64_t i = 0; i < channels_.lanes(); ++i)
      if (const auto channel = channels_.channel_of(which, i); channel < channels_.channels())
        sums[channel] = {first[i], second[i]};
  }
  // Calls call(column, channel, index of its group's statistics).
  template <class Call> void each_channel(std::int64_t sample, std::int64_t which, Call&& call) const {
    for (std::int64_t i = 0; i < channels_.columns(); ++i)
      if (const auto channel = channels_.channel_of(which, i); channel < channels_.channels())
        call(i, channel, sample * spec_.groups + channel / together_);
  }
  float inverse(float variance) const {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(variance) + spec_.epsilon));
  }
  void scale_and_shift(Numbers& n, std::int64_t i, float mean, float variance, float scale, float shift) const {
    n.mean[i] = mean;
    n.factor[i] = scale * inverse(variance);
    n.shift[i] = shift - mean * n.factor[i];
  }

  static constexpr std::size_t larger_than_caches = std::size_t{12} << 20;

  NormSpec spec_;
  Channels channels_;
  DType type_;
  bool relu_, stream_;
  std::int64_t together_; // channels in a group
  double elements_;       // in a group of one sample
  TensorDesc param_, statistic_;
};

class GroupNormFeature final : public GroupNorm {
 public:
  GroupNormFeature(const NormSpec& spec, const Channels& channels) : GroupNorm(spec, channels) {
    in = {spec.x, param_, param_};
    out = {spec.y, statistic_, statistic_};
    if (spec.epilogue.add) in.push_back(spec.y);
    operations = 6.0 * static_cast<double>(spec.x.count());
  }

  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic&) override {
    const auto *scale = static_cast<const float*>(inputs[1]), *shift = static_cast<const float*>(inputs[2]);
    auto *means = static_cast<float*>(outputs[1]), *variances = static_cast<float*>(outputs[2]);
    const void* addend = spec_.epilogue.add ? inputs.back() : nullptr;
    const auto per_channel = static_cast<double>(channels_.per_sample());
    // A channel's sums become its mean and the sum of squared distances from it.
    const auto sum = [&](std::int64_t sample, std::int64_t which) {
      float pivot[wide_group];
      channels_.read_first(type_, inputs[0], sample, which, pivot);
      double totals[wide_group] = {}, squares[wide_group] = {};
      channels_.each_piece(sample, which, [&](const Channels::Piece& p) {
        channel_kernels().moments(type_, {inputs[0], nullptr, nullptr, p.offset, p.rows, p.step, p.width}, pivot,
                                  totals, squares);
      });
      Sums* sums = sums_of(scratch, sample);
      keep(totals, squares, which, sums);
      for (std::int64_t i = 0; i < channels_.lanes(); ++i)
        if (const auto channel = channels_.channel_of(which, i); channel < channels_.channels()) {
          const double distance = sums[channel].first / per_channel;
          sums[channel] = {static_cast<double>(pivot[i]) + distance,
                           std::max(0.0, sums[channel].second - distance * sums[channel].first)};
        }
    };
    const auto settle = [&](std::int64_t sample) {
      const Sums* sums = sums_of(scratch, sample);
      for (std::int64_t group = 0; group < spec_.groups; ++group, sums += together_) {
        double mean = 0, squares = 0;
        for (std::int64_t c = 0; c < together_; ++c) mean += sums[c].first / static_cast<double>(together_);
        for (std::int64_t c = 0; c < together_; ++c) {
          const double distance = sums[c].first - mean;
          squares += sums[c].second + per_channel * distance * distance;
        }
        means[sample * spec_.groups + group] = static_cast<float>(mean);
        variances[sample * spec_.groups + group] = static_cast<float>(squares / elements_);
      }
    };
    const auto spread = [&](std::int64_t sample, std::int64_t which) {
      Numbers n;
      each_channel(sample, which, [&](std::int64_t i, std::int64_t c, std::int64_t s) {
        scale_and_shift(n, i, means[s], variances[s], scale[c], shift[c]);
      });
      channels_.each_piece(sample, which, [&](const Channels::Piece& p) {
        channel_kernels().apply(type_, {inputs[0], addend, outputs[0], p.offset, p.rows, p.step, p.width, stream_},
                                n.factor, n.shift, relu_);
      });
    };
    run(sum, settle, spread);
  }
};

class GroupNormGradient final : public GroupNorm {
 public:
  GroupNormGradient(const NormSpec& spec, const Channels& channels) : GroupNorm(spec, channels) {
    in = {spec.x, spec.y, param_, param_, statistic_, statistic_};
    out = {spec.x, param_, param_};
    mask_ = add_epilogue_operands(spec, *this);
    operations = 12.0 * static_cast<double>(spec.x.count());
    // After the sums come each group's numbers for dx: the factor of x, and the constant.
    group_numbers_ = scratch_bytes;
    scratch_bytes += static_cast<std::size_t>(statistic_.count()) * sizeof(Sums);
  }

  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic&) override {
    const auto floats = [&](std::size_t i) { return static_cast<const float*>(inputs[i]); };
    const float *scale = floats(2), *shift = floats(3), *means = floats(4), *variances = floats(5);
    const void* y = mask_ == Mask::from_output ? inputs[6] : nullptr;
    void* daddend = spec_.epilogue.add ? outputs[3] : nullptr;
    auto* of_group = reinterpret_cast<Sums*>(static_cast<std::byte*>(scratch) + group_numbers_);
    const auto rows_of = [&](const Channels::Piece& p) {
      return GradientRows{inputs[0], inputs[1], y, outputs[0], daddend, p.offset, p.rows, p.step, p.width, stream_};
    };
    const auto numbers = [&](std::int64_t sample, std::int64_t which) {
      Numbers n;
      each_channel(sample, which, [&](std::int64_t i, std::int64_t c, std::int64_t s) {
        scale_and_shift(n, i, means[s], variances[s], scale[c], shift[c]);
        n.by_x[i] = static_cast<float>(of_group[s].first);
        n.constant[i] = static_cast<float>(of_group[s].second);
      });
      return n;
    };
    const auto sum = [&](std::int64_t sample, std::int64_t which) {
      const Numbers n = numbers(sample, which);
      double totals[wide_group] = {}, products[wide_group] = {};
      channels_.each_piece(sample, which, [&](const Channels::Piece& p) {
        channel_kernels().slopes(type_, mask_, rows_of(p), n.factor, n.shift, n.mean, totals, products);
      });
      keep(totals, products, which, sums_of(scratch, sample));
    };
    const auto settle = [&](std::int64_t sample) {
      const Sums* sums = sums_of(scratch, sample);
      for (std::int64_t c = 0, s = sample * spec_.groups; s < (sample + 1) * spec_.groups; ++s) {
        double total = 0, products = 0;
        for (const auto last = c + together_; c < last; ++c) {
          total += static_cast<double>(scale[c]) * sums[c].first;
          products += static_cast<double>(scale[c]) * sums[c].second;
        }
        const auto inverted = static_cast<double>(inverse(variances[s]));
        const double by_x = -inverted * inverted * inverted * products / elements_;
        of_group[s] = {by_x, -inverted * total / elements_ - by_x * static_cast<double>(means[s])};
      }
    };
    const auto spread = [&](std::int64_t sample, std::int64_t which) {
      const Numbers n = numbers(sample, which);
      channels_.each_piece(sample, which, [&](const Channels::Piece& p) {
        channel_kernels().gradient(type_, mask_, rows_of(p), n.factor, n.shift, n.by_x, n.constant);
      });
    };
    std::fill_n(of_group, statistic_.count(), Sums{});
    run(sum, settle, spread);
    make_param_gradients(scratch, variances, static_cast<float*>(outputs[1]), static_cast<float*>(outputs[2]));
  }

 private:
  void make_param_gradients(void* scratch, const float* variances, float* dscale, float* dshift) const {
    constexpr std::int64_t grain = 64;
    parallel_ranges(channels_.channels(), grain, [&](std::int64_t first, std::int64_t last) {
      for (auto c = first; c < last; ++c) {
        Sums all{0, 0};
        for (std::int64_t sample = 0; sample < channels_.samples(); ++sample) {
          const Sums& of = sums_of(scratch, sample)[c];
          all.first += of.first;
          all.second += of.second * static_cast<double>(inverse(variances[sample * spec_.groups + c / together_]));
        }
        dscale[c] = static_cast<float>(all.second);
        dshift[c] = static_cast<float>(all.first);
      }
    });
  }

  Mask mask_ = Mask::none;
  std::size_t group_numbers_ = 0;
};

} // namespace

Prepared prepare_group_norm(const NormSpec& wanted) {
  NormSpec spec = wanted;
  DLHOST_TRY(settle_alike(spec));
  const auto refused = refused_by_channel(spec.epilogue);
  if (!refused.empty()) spec.epilogue = {};
  DLHOST_ASSIGN(const auto channels, Channels::of(spec.x, wide_group));
  std::unique_ptr<Op> op;
  if (spec.role == Role::feature)
    op = std::make_unique<GroupNormFeature>(spec, channels);
  else
    op = std::make_unique<GroupNormGradient>(spec, channels);
  op->epilogue_taken = refused.empty();
  op->remark = refused;
  return op;
}

} // namespace dlhost::plugins::cpu
