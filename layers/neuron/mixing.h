// The base of mixup and cutmix: in training each sample and its target are mixed with the next sample of the batch, by
// a random share. src = [data, labels]; outputs: x, f32 with the data's shape, and target, f32 [batch, classes]. Pairs
// are rows of one worker. Computes on the host.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include <boost/random/beta_distribution.hpp>

#include <dlhost/layer.h>
#include <dlhost/random.h>
#include <dlhost/schema.h>

namespace dlhost::plugins {

struct MixingOptions {
  std::int64_t classes = 0;
  double alpha = 1;
  double probability = 1;
};

template <class Options> SchemaOf<Options> mixing(SchemaOf<Options> schema) {
  return schema
      .required("classes", static_cast<std::int64_t Options::*>(&MixingOptions::classes), at_least(1),
                "number of classes")
      .option("alpha", static_cast<double Options::*>(&MixingOptions::alpha),
              "shares are drawn from Beta(alpha, alpha): 1 is uniform, less is nearer to 0 and 1", above(0))
      .option("probability", static_cast<double Options::*>(&MixingOptions::probability),
              "the share of samples that are mixed", between(0, 1));
}

class Mixing : public Layer {
 public:
  Status setup(Setup& s) final {
    DLHOST_TRY(expect_inputs(s, 2, 2));
    DLHOST_TRY(expect_data(s));
    const TensorDesc &data = s.inputs[0].desc, &label = s.inputs[1].desc;
    if (data.dtype != DType::u8 && data.dtype != DType::f32)
      return Status::unsupported("mixes u8 and f32, but ", s.inputs[0].name, " is ", name_of(data.dtype));
    if (label.dtype != DType::i32 || label.shape != Shape{data.shape[0]})
      return Status::invalid("wants a label, i32, for each sample of ", s.inputs[0].name, " (", to_string(data.shape),
                             "), but ", s.inputs[1].name, " is ", to_string(label.shape), " ", name_of(label.dtype));
    bytes_ = data.dtype == DType::u8;
    s.output("x", TensorDesc{DType::f32, data.shape, {}});
    s.output("target", TensorDesc{DType::f32, {data.shape[0], options_.classes}, {}});
    s.host = true;
    s.has_gradient = false;
    s.whole_batch = true;
    return {};
  }

  Status prepare(Prepare& p) final {
    if (p.wants_input_gradient(0))
      return Status::unsupported("its inputs cannot learn: put it behind the source, before layers with params");
    shape_ = p.input(0).shape;
    return {};
  }

  void compute_feature(const Pass& pass, Frame& f) const final {
    const std::int64_t rows = shape_[0], elements = shape_.past(1);
    auto* x = static_cast<float*>(f.output(0));
    auto* target = static_cast<float*>(f.output(1));
    const auto* labels = static_cast<const std::int32_t*>(f.input(1));
    std::memset(target, 0, static_cast<std::size_t>(rows * options_.classes) * sizeof(float));
    for (std::int64_t row = 0; row < rows; ++row) {
      copy(f, row, x + row * elements);
      const bool counts = row < pass.valid;
      double share = 1; // of the sample itself
      const std::int64_t other = row + 1 < pass.valid ? row + 1 : 0;
      if (pass.phase == Phase::train && counts && other != row) {
        Random random({pass.seed, f.draw_stream}, pass.epoch, pass.samples[static_cast<std::size_t>(row)]);
        if (random.uniform() < options_.probability)
          share = mix(f, row, other, drawn(random), random, x + row * elements);
      }
      add_share(target, row, labels[row], share, counts);
      if (share < 1) add_share(target, row, labels[other], 1 - share, counts);
    }
  }

 protected:
  explicit Mixing(MixingOptions options) : options_(options) {}

  virtual Status expect_data(const Setup& s) const { return expect_rank(s, 0, 2); }
  // Mixes into `x`, which has the row's values, so that `share` of it is from the row and the rest from `other`.
  // Returns the actual share.
  virtual double mix(const Frame&, std::int64_t row, std::int64_t other, double share, Random&, float* x) const = 0;

  float value(const Frame& f, std::int64_t row, std::int64_t element) const {
    const std::int64_t at = row * shape_.past(1) + element;
    return bytes_ ? static_cast<const std::uint8_t*>(f.input(0))[at] : static_cast<const float*>(f.input(0))[at];
  }
  const Shape& shape() const { return shape_; }

 private:
  // The random number generator for a distribution.
  struct Bits {
    using result_type = std::uint32_t;
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
    result_type operator()() { return random.bits(); }
    Random& random;
  };

  double drawn(Random& random) const {
    Bits bits{random};
    return boost::random::beta_distribution<double>(options_.alpha, options_.alpha)(bits);
  }

  void copy(const Frame& f, std::int64_t row, float* x) const {
    const std::int64_t elements = shape_.past(1);
    if (!bytes_) {
      std::memcpy(x, static_cast<const float*>(f.input(0)) + row * elements,
                  static_cast<std::size_t>(elements) * sizeof(float));
      return;
    }
    const auto* from = static_cast<const std::uint8_t*>(f.input(0)) + row * elements;
    std::transform(from, from + elements, x, [](std::uint8_t byte) { return static_cast<float>(byte); });
  }

  // Rows that do not count may have any label.
  void add_share(float* target, std::int64_t row, std::int32_t label, double share, bool counts) const {
    if (label >= 0 && label < options_.classes) {
      target[row * options_.classes + label] += static_cast<float>(share);
      return;
    }
    if (counts)
      throw std::domain_error(concat("label ", label, " of row ", row, " is not in [0, ", options_.classes,
                                     "): set `classes` to the number of classes"));
  }

  MixingOptions options_;
  Shape shape_;
  bool bytes_ = false;
};

} // namespace dlhost::plugins
