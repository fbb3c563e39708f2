// Class labels beside scores x [n, classes, ...]: one i32 for each sample and place, [n, ...]; a sample's single label
// may have an axis of its own, [n, 1].
#pragma once

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

} // namespace dlhost::plugins
