// Parts: small plugins that options refer to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dlhost/kind.h>
#include <dlhost/random.h>
#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost {

class Host;

// The learning rate of a step. A pure function, so that a resumed run continues it.
class DLHOST_API Schedule : public Plugin {
 public:
  static constexpr Kind kind = Kind::schedule;
  struct When {
    std::uint64_t step = 0;
    double epoch = 0;              // with its fraction
    std::uint64_t total_steps = 0; // 0: unknown
  };
  virtual double rate(const When&) const = 0;
  // Called once after construction: a schedule that wraps another makes the inner one here.
  virtual Status setup(Host&);
};

// Fills a param with its first values: plain f32, row-major.
class DLHOST_API Initializer : public Plugin {
 public:
  static constexpr Kind kind = Kind::initializer;
  struct Target {
    Shape shape;
    std::int64_t fan_in = 0, fan_out = 0;
  };
  virtual Status fill(std::span<float> values, const Target&, Random&) const = 0;
};

// Changes a sample of a source's output 0 on its way into a batch. Thread: the readers' tasks.
class DLHOST_API Augmentation : public Plugin {
 public:
  static constexpr Kind kind = Kind::augmentation;
  // Returns the description of a sample after it, given the one before (without the batch axis).
  virtual Result<TensorDesc> setup(const TensorDesc& sample) = 0;
  // `training` false: the deterministic version (a centre crop). `dst` never overlaps `src`.
  virtual void apply(const std::byte* src, std::byte* dst, bool training, Random&) const = 0;
};

} // namespace dlhost
