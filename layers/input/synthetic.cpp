// Random samples, for measuring speed without a data set and for testing that a net can learn. Sample and label are
// pure functions of the seed, the phase and the sample's number.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <utility>
#include <vector>

#include <dlhost/plugin.h>
#include <dlhost/random.h>
#include <dlhost/source.h>

namespace dlhost::input {
namespace {

enum class Mode : std::uint8_t { gaussian, uniform, learnable };

class Synthetic : public Source {
 public:
  static constexpr std::string_view name = "synthetic";

  struct Options {
    std::vector<std::int64_t> shape;
    std::int64_t classes = 10, train = 10000, validate = 0, test = 0, seed = 0;
    Mode mode = Mode::gaussian;
    double noise = 1;
    bool bytes = false;
  };

  static Schema schema() {
    return SchemaOf<Options>("Samples drawn from a seed. Outputs: data, f32 or u8 [shape]; label, i32 [].")
        .required("shape", &Options::shape, at_least(1), "shape of a sample, as [3, 224, 224]")
        .option("classes", &Options::classes, "labels are 0 to classes - 1; 0: no labels", between(0, 1 << 24))
        .option("train", &Options::train, "number of training samples", between(0, 4e9))
        .option("validate", &Options::validate, "number of validation samples", between(0, 4e9))
        .option("test", &Options::test, "number of test samples", between(0, 4e9))
        .option("seed", &Options::seed, "another seed gives other samples")
        .choice("mode", &Options::mode,
                {{"gaussian", Mode::gaussian}, {"uniform", Mode::uniform}, {"learnable", Mode::learnable}},
                "values of mean 0 and deviation 1; values in [0, 1); or, for each class, a pattern of its own under "
                "gaussian noise")
        .option("noise", &Options::noise, "the deviation of the noise of mode = \"learnable\"", at_least(0))
        .choice("values", &Options::bytes, {{"f32", false}, {"u8", true}},
                "u8: values as the bytes of pictures, 0 to 255, centred on 128");
  }

  explicit Synthetic(Options options) : options_(std::move(options)) {}

  Status open(Host&, const std::string&) override {
    // Samples are assembled from a table that is drawn once: drawing each value would take a core that training needs.
    table_ = drawn(options_.seed, options_.mode == Mode::uniform);
    return {};
  }

  Status setup(Setup& s) override {
    if (options_.shape.empty() || options_.shape.size() >= max_rank)
      return Status::invalid("shape has ", options_.shape.size(), " axes, but must have 1 to ", max_rank - 1);
    const Shape shape{std::span<const std::int64_t>(options_.shape)};
    elements_ = static_cast<std::size_t>(shape.count());
    s.output("data", TensorDesc{options_.bytes ? DType::u8 : DType::f32, shape, {}});
    if (options_.classes > 0) s.output("label", TensorDesc{DType::i32, {}, {}});
    s.has_gradient = false;
    return {};
  }

  std::int64_t count(Phase phase) const override {
    return phase == Phase::train ? options_.train : phase == Phase::validate ? options_.validate : options_.test;
  }

  std::optional<std::int64_t> class_of(Phase phase, std::int64_t index) const override {
    if (options_.classes == 0) return {};
    return draws_of(phase, index).below(static_cast<std::uint32_t>(options_.classes));
  }

  Status read(Phase phase, std::int64_t index, std::span<std::byte* const> outputs) const override {
    Random draws = draws_of(phase, index);
    const auto classes = static_cast<std::uint32_t>(options_.classes);
    const std::uint32_t label = classes > 0 ? draws.below(classes) : 0;
    if (classes > 0) std::memcpy(outputs[1], &label, sizeof label);
    Random pattern({static_cast<std::uint64_t>(options_.seed), 2}, 0, label);
    for (std::size_t at = 0; at < elements_; at += stretch) {
      const std::size_t count = std::min(stretch, elements_ - at);
      const float* noise = table_->data() + draws.below(table_size - stretch);
      const float* form = table_->data() + pattern.below(table_size - stretch);
      if (options_.bytes)
        write(reinterpret_cast<std::uint8_t*>(outputs[0]) + at, noise, form, count);
      else
        write(reinterpret_cast<float*>(outputs[0]) + at, noise, form, count);
    }
    return {};
  }

 private:
  static constexpr std::uint32_t table_size = 1 << 16;
  static constexpr std::size_t stretch = 1 << 12; // values taken from the table in one piece

  using Values = std::vector<float>;

  // The draws of one sample; the first is its class.
  Random draws_of(Phase phase, std::int64_t index) const {
    return {{static_cast<std::uint64_t>(options_.seed), 1},
            static_cast<std::uint32_t>(phase),
            static_cast<std::uint32_t>(index)};
  }

  // Shared by all sources of this process with the same arguments: each worker opens its own source.
  static std::shared_ptr<const Values> drawn(std::int64_t seed, bool uniform) {
    static std::mutex mutex;
    static std::map<std::pair<std::int64_t, bool>, std::weak_ptr<const Values>> all;
    const std::scoped_lock lock(mutex);
    if (const auto known = all.find({seed, uniform}); known != all.end())
      if (auto values = known->second.lock()) return values;
    auto values = std::make_shared<Values>(table_size);
    Random random({static_cast<std::uint64_t>(seed), 0}, 0, 0);
    for (float& value : *values) value = uniform ? random.uniform() : gaussian(random);
    std::erase_if(all, [](const auto& one) { return one.second.expired(); });
    all[{seed, uniform}] = values;
    return values;
  }

  static float gaussian(Random& random) {
    const float radius = std::sqrt(-2 * std::log(1 - random.uniform()));
    return radius * std::cos(2 * std::numbers::pi_v<float> * random.uniform());
  }

  void write(float* dst, const float* noise, const float* form, std::size_t count) const {
    if (options_.mode != Mode::learnable) {
      std::memcpy(dst, noise, count * sizeof(float));
      return;
    }
    const auto deviation = static_cast<float>(options_.noise);
    for (std::size_t i = 0; i < count; ++i) dst[i] = form[i] + deviation * noise[i];
  }

  void write(std::uint8_t* dst, const float* noise, const float* form, std::size_t count) const {
    const bool learnable = options_.mode == Mode::learnable, uniform = options_.mode == Mode::uniform;
    const float deviation = learnable ? static_cast<float>(options_.noise) : 1;
    const float scale = uniform ? 256 : 48, middle = uniform ? 0 : 128;
    for (std::size_t i = 0; i < count; ++i) {
      const float value = middle + scale * ((learnable ? form[i] : 0) + deviation * noise[i]);
      dst[i] = static_cast<std::uint8_t>(std::clamp(value, 0.F, 255.F));
    }
  }

  Options options_;
  std::shared_ptr<const Values> table_;
  std::size_t elements_ = 0;
};

} // namespace
} // namespace dlhost::input

DLHOST_PLUGIN("1.0", dlhost::input::Synthetic);
