// Mean and variance of elements, as sums of distances from one of them: no division for each element. Parts are joined
// after Chan, Golub and LeVeque.
#pragma once

#include "body.h"

namespace dlhost::plugins::cuda {

struct Spread {
  float count = 0, from = 0, sum = 0, squares = 0; // of distances from `from`, the first element

  DLHOST_BODY void take(float value) {
    if (count == 0) from = value;
    const float distance = value - from;
    count += 1;
    sum += distance;
    squares += distance * distance;
  }
  DLHOST_BODY void join(const Spread& other) {
    if (other.count == 0) return;
    if (count == 0) {
      *this = other;
      return;
    }
    const float all = count + other.count, own = sum / count, others = other.sum / other.count;
    const float distance = other.from - from + others - own;
    squares = squares - sum * own + (other.squares - other.sum * others) +
              distance * distance * (count * (other.count / all));
    from += own + distance * (other.count / all);
    sum = 0;
    count = all;
  }
  DLHOST_BODY float mean() const { return count > 0 ? from + sum / count : 0.0F; }
  DLHOST_BODY float variance() const {
    const float made = count > 0 ? (squares - sum * (sum / count)) / count : 0.0F;
    return made < 0 ? 0.0F : made;
  }
};

} // namespace dlhost::plugins::cuda
