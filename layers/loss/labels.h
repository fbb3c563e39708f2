// Class labels for scores x [n, classes, ...]: an i32 for each sample and place, [n, ...]; a sample's single label may
// have its own axis, [n, 1].
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include <dlhost/layer.h>

namespace dlhost::plugins {

inline std::int64_t places(const Shape& scores) { return scores.past(2); }

inline Status expect_labels(const Setup& s, std::size_t scores, std::size_t labels) {
  DLHOST_TRY(expect_rank(s, scores, 2));
  const Shape& x = s.input(scores);
  const Shape& label = s.input(labels);
  if (label.rank() > 0 && label[0] == x[0] && label.count() == x[0] * places(x)) return {};
  return Status::invalid("wants one label for each sample and place of ", s.inputs[scores].name, " (", to_string(x),
                         "), but ", s.inputs[labels].name, " is ", to_string(label));
}

// The base of layers that measure scores by labels on the host: inputs 0 and 1.
class ByLabels : public Layer {
 public:
  Status prepare(Prepare& p) final {
    shape_ = p.input(0).shape;
    p.reads(0, {DType::f32, shape_, {}});
    p.reads(1, {DType::i32, p.input(1).shape, {}});
    return {};
  }

 protected:
  // Declares the output as a metric or a table.
  static Status declare(Setup& s, std::string output, const Shape& shape, MetricSpec metric) {
    s.output(std::move(output), TensorDesc{DType::f32, shape, {}});
    s.metric(std::move(metric));
    s.host = true;
    s.has_gradient = false;
    return {};
  }
  static Status expect_scores(const Setup& s) {
    DLHOST_TRY(expect_inputs(s, 2, 2));
    return expect_labels(s, 0, 1);
  }

  // Calls call(label, scores) for each counted sample and place; class c's score is scores[c * stride()].
  template <class Call> void each(const Pass& pass, const Frame& f, std::int64_t ignored, Call&& call) const {
    const auto* scores = static_cast<const float*>(f.input(0));
    const auto* labels = static_cast<const std::int32_t*>(f.input(1));
    const std::int64_t inner = stride();
    for (std::int64_t i = 0; i < std::min(pass.valid, shape_[0]) * inner; ++i)
      if (labels[i] != ignored) call(std::int64_t{labels[i]}, scores + i / inner * classes() * inner + i % inner);
  }
  std::int64_t classes() const { return shape_[1]; }
  std::int64_t stride() const { return places(shape_); }

 private:
  Shape shape_;
};

} // namespace dlhost::plugins
