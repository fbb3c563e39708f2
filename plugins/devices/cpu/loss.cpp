// Softmax and cross-entropy in one go over each row, while it is in the first cache. Rows go to threads; the losses of
// the rows are added in their order afterwards, so that the sum does not depend on the threads.
#include <algorithm>
#include <cmath>

#include <dlhost/parallel.h>

#include "map/kernels.h"
#include "prepare.h"
#include "primitive.h"
#include "rows.h"

namespace dlhost::plugins::cpu {
namespace {

constexpr std::int64_t grain_elements = 4096;

class SoftmaxLoss final : public Op {
 public:
  SoftmaxLoss(const SoftmaxLossSpec& spec, int threads)
      : spec_(spec), threads_(threads), classes_(spec.x.shape[1]), inner_(spec.x.shape.past(2)),
        lines_(spec.x.shape[0] * inner_) {
    spec_.x.format = Format::plain();
    Shape labels{spec.x.shape[0]};
    for (std::size_t axis = 2; axis < spec.x.shape.rank(); ++axis) labels.push_back(spec.x.shape[axis]);
    in = {spec_.x, {DType::i32, labels, {}}};
    if (spec.class_weights) in.push_back({DType::f32, {classes_}, {}});
    out = {spec_.x};
    if (spec.role == Role::feature) out.push_back({DType::f32, {2}, {}});
    direct_ = spec.x.dtype == DType::f32 && inner_ == 1;
    scratch_bytes = static_cast<std::size_t>((direct_ ? 0 : threads * classes_) + 2 * lines_) * sizeof(float);
    operations = 5.0 * static_cast<double>(spec.x.count());
    kernel = "rows";
  }

  void execute(Stream& stream, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic& dynamic) override {
    const Run run{inputs,
                  outputs,
                  static_cast<const std::int32_t*>(inputs[1]),
                  spec_.class_weights ? static_cast<const float*>(inputs[2]) : nullptr,
                  dynamic.valid < 0 ? lines_ : std::min(lines_, dynamic.valid * inner_),
                  dynamic.scalars.empty() ? 1.0F : dynamic.scalars[0]};
    if (const auto wrong = first_wrong(run); wrong < run.counted) {
      static_cast<CpuStream&>(stream).fail(
          Status::invalid("label ", run.labels[wrong], " of row ", wrong / inner_, " is not in [0, ", classes_, ")"));
      return;
    }
    auto* losses = static_cast<float*>(scratch);
    auto* rooms = losses + 2 * lines_;
    const auto pieces = std::clamp<std::int64_t>(lines_ * classes_ / grain_elements, 1,
                                                 std::min<std::int64_t>({threads_, parallel_threads(), lines_}));
    parallel(pieces, [&](std::int64_t piece) {
      float* room = rooms + (direct_ ? 0 : piece * classes_);
      for (auto line = lines_ * piece / pieces; line < lines_ * (piece + 1) / pieces; ++line) {
        if (spec_.role == Role::feature)
          feature(run, line, room, losses + 2 * line);
        else
          gradient(run, line, room);
      }
    });
    if (spec_.role == Role::feature) add_up(losses, static_cast<float*>(outputs[1]));
  }

 private:
  struct Run {
    std::span<const void* const> inputs;
    std::span<void* const> outputs;
    const std::int32_t* labels;
    const float* weights;
    std::int64_t counted; // lines
    float factor;
  };

  bool ignored(std::int32_t label) const { return spec_.ignored && *spec_.ignored == label; }
  // The first counted line whose label is none; `counted` when all are right.
  std::int64_t first_wrong(const Run& run) const {
    std::int64_t line = 0;
    while (line < run.counted && (ignored(run.labels[line]) || (run.labels[line] >= 0 && run.labels[line] < classes_)))
      ++line;
    return line;
  }
  float weight(const Run& run, std::int64_t line) const {
    if (line >= run.counted || ignored(run.labels[line])) return 0;
    return run.weights ? run.weights[run.labels[line]] : 1.0F;
  }

  // A line's elements lie `inner_` apart, in x's dtype.
  std::int64_t start(std::int64_t line) const { return line / inner_ * classes_ * inner_ + line % inner_; }
  const float* read(const void* from, std::int64_t line, float* room) const {
    if (direct_) return static_cast<const float*>(from) + start(line);
    const auto size = static_cast<std::int64_t>(size_of(spec_.x.dtype));
    const auto* first = static_cast<const std::byte*>(from) + start(line) * size;
    if (inner_ == 1) map_kernels().load(spec_.x.dtype, first, room, classes_);
    for (std::int64_t c = 0; c < classes_ && inner_ > 1; ++c)
      map_kernels().load(spec_.x.dtype, first + c * inner_ * size, room + c, 1);
    return room;
  }
  void write(void* to, std::int64_t line, const float* room) const {
    if (direct_) return;
    const auto size = static_cast<std::int64_t>(size_of(spec_.x.dtype));
    auto* first = static_cast<std::byte*>(to) + start(line) * size;
    if (inner_ == 1) map_kernels().store(spec_.x.dtype, room, first, classes_);
    for (std::int64_t c = 0; c < classes_ && inner_ > 1; ++c)
      map_kernels().store(spec_.x.dtype, room + c, first + c * inner_ * size, 1);
  }

  void feature(const Run& run, std::int64_t line, float* room, float* loss) const {
    const float* x = read(run.inputs[0], line, room);
    float* p = direct_ ? static_cast<float*>(run.outputs[0]) + start(line) : room;
    const float w = weight(run, line);
    const auto smoothing = static_cast<float>(spec_.smoothing);
    const float chosen = w != 0 ? x[run.labels[line]] : 0;
    float sum = 0;
    const float log_sum = row_kernels().softmax(x, p, classes_, smoothing != 0 ? &sum : nullptr);
    loss[0] = w == 0 ? 0 : w * (log_sum - (1 - smoothing) * chosen - smoothing / static_cast<float>(classes_) * sum);
    loss[1] = w;
    write(run.outputs[0], line, p);
  }

  void gradient(const Run& run, std::int64_t line, float* room) const {
    const float w = run.factor * weight(run, line);
    const float* p = read(run.inputs[0], line, room);
    float* dx = direct_ ? static_cast<float*>(run.outputs[0]) + start(line) : room;
    const auto smoothing = static_cast<float>(spec_.smoothing);
    if (w == 0) {
      std::fill_n(dx, classes_, 0.0F);
    } else {
      row_kernels().softmax_gradient(p, dx, classes_, w, smoothing / static_cast<float>(classes_));
      dx[run.labels[line]] -= w * (1 - smoothing);
    }
    write(run.outputs[0], line, dx);
  }

  void add_up(const float* losses, float* total) const {
    double sum = 0, weights = 0;
    for (std::int64_t line = 0; line < lines_; ++line) {
      sum += static_cast<double>(losses[2 * line]);
      weights += static_cast<double>(losses[2 * line + 1]);
    }
    total[0] = static_cast<float>(sum);
    total[1] = static_cast<float>(weights);
  }

  SoftmaxLossSpec spec_;
  int threads_;
  std::int64_t classes_, inner_, lines_;
  bool direct_ = false; // rows of f32, in one piece
};

} // namespace

Prepared prepare(const SoftmaxLossSpec& spec, const Request& request) {
  if (spec.x.shape.rank() < 2)
    return Status::invalid("softmax_loss: x is ", to_string(spec.x.shape), ", but must be [n, classes, ...]");
  if (!spec.x.format.is_plain() && !spec.x.format.is_any()) return Status::unsupported("softmax_loss: x must be plain");
  return std::unique_ptr<Op>(std::make_unique<SoftmaxLoss>(spec, request.threads));
}

} // namespace dlhost::plugins::cpu
