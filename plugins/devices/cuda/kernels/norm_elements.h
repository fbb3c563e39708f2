// Norms element by element, for any sharing of statistics and any layout: for all cases that norm_columns.h does not
// cover.
#pragma once

#include <algorithm>
#include <cmath>

#include "finish.h"
#include "norm_columns.h"
#include "number.h"

namespace dlhost::plugins::cuda {

// Which elements share a statistic, and which a scale. Element i has the scale (i / inner) % params. It shares its
// statistic with all elements of its scale (batch), with its `together` neighbours (layer and RMS; group in the plain
// layout), or with the `wide` neighbours of all places of its sample (group, channels last).
struct NormGroups {
  enum Sharing : std::int32_t { scales, neighbours, strips };
  Sharing sharing = scales;
  std::int64_t inner = 1, params = 1, together = 1, wide = 1, groups = 1;
  std::int64_t statistics = 1, count = 0;

  DLHOST_BODY std::int64_t statistic(std::int64_t i) const {
    if (sharing == scales) return param(i);
    if (sharing == neighbours) return quotient(i, together);
    return quotient(i, together * groups) * groups + quotient(i % params, wide);
  }
  DLHOST_BODY std::int64_t param(std::int64_t i) const { return quotient(i, inner) % params; }
  // Element `term` of those that share statistic `s`, or a scale.
  DLHOST_BODY std::int64_t of_statistic(std::int64_t s, std::int64_t term) const {
    if (sharing == scales) return of_param(s, term);
    if (sharing == neighbours) return s * together + term;
    const std::int64_t n = quotient(s, groups), place = quotient(term, wide);
    return n * together * groups + place * params + (s - n * groups) * wide + (term - place * wide);
  }
  DLHOST_BODY std::int64_t of_param(std::int64_t p, std::int64_t term) const {
    const std::int64_t n = quotient(term, inner);
    return (n * params + p) * inner + (term - n * inner);
  }

  static NormGroups of(const NormSpec& spec) {
    NormGroups made;
    const bool batch = spec.kind == NormSpec::Kind::batch, group = spec.kind == NormSpec::Kind::group;
    const bool plain = spec.x.format.is_plain();
    made.count = spec.x.count();
    made.params = spec.params().count();
    made.statistics = spec.statistics().count();
    made.inner = (batch || group) && plain ? spec.x.shape.past(2) : 1;
    made.together = made.count / std::max<std::int64_t>(made.statistics, 1);
    made.groups = spec.groups;
    made.wide = made.params / spec.groups;
    made.sharing = batch ? scales : group && !plain ? strips : neighbours;
    return made;
  }
};

struct Statistics {
  using Sum = Spread;
  NormGroups groups;
  Source x;
  float *mean, *variance;
  DLHOST_BODY Sum zero() const { return {}; }
  DLHOST_BODY void take(Sum& sum, std::int64_t s, std::int64_t term) const {
    sum.take(x[groups.of_statistic(s, term)]);
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum.join(other); }
  DLHOST_BODY void finish(std::int64_t s, const Sum& sum) const {
    mean[s] = sum.mean();
    variance[s] = sum.variance();
  }
};

struct Square {
  float sum;
  DLHOST_BODY void join(const Square& other) { sum += other.sum; }
};

struct MeanSquares {
  using Sum = Square;
  NormGroups groups;
  Source x;
  float* square;
  DLHOST_BODY Sum zero() const { return {0}; }
  DLHOST_BODY void take(Sum& sum, std::int64_t s, std::int64_t term) const {
    const float value = x[groups.of_statistic(s, term)];
    sum.sum += value * value;
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum.join(other); }
  DLHOST_BODY void finish(std::int64_t s, const Sum& sum) const {
    square[s] = sum.sum / static_cast<float>(groups.together);
  }
};

struct Normal {
  NormGroups groups;
  float epsilon;
  Source x;
  const float *scale, *shift, *mean, *variance; // RMS norm: null shift and mean, and the mean square

  DLHOST_BODY float inverse(std::int64_t s) const { return 1 / std::sqrt(variance[s] + epsilon); }
  DLHOST_BODY float normalised(std::int64_t i, std::int64_t s) const {
    return (mean ? x[i] - mean[s] : x[i]) * inverse(s);
  }
  DLHOST_BODY float scaled(std::int64_t p, float normalised) const {
    return shift ? normalised * scale[p] + shift[p] : normalised * scale[p];
  }
};

struct NormFeature {
  Normal normal;
  Target y;
  Finish finish;
  DLHOST_BODY void operator()(std::int64_t i) const {
    const std::int64_t p = normal.groups.param(i);
    const float value = normal.scaled(p, normal.normalised(i, normal.groups.statistic(i)));
    y.set(i, finish(i, value));
  }
};

// dy before the epilogue.
struct Through {
  Normal normal;
  Source dy, y; // y.data null: the slope comes from x
  Function slope;

  DLHOST_BODY float operator()(std::int64_t i, float normalised) const {
    if (slope.result < 0) return dy[i];
    const std::int64_t p = normal.groups.param(i);
    return dy[i] * slope(y.data ? y[i] : normal.scaled(p, normalised));
  }
};

// The gradients of scale and shift.
struct ParamGradients {
  using Sum = Pair;
  Through through;
  float *dscale, *dshift; // dshift may be null
  DLHOST_BODY Sum zero() const { return {0, 0}; }
  DLHOST_BODY void take(Sum& sum, std::int64_t p, std::int64_t term) const {
    const std::int64_t i = through.normal.groups.of_param(p, term);
    const float x = through.normal.normalised(i, through.normal.groups.statistic(i)), dy = through(i, x);
    sum.shift += dy;
    sum.scale += dy * x;
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum.join(other); }
  DLHOST_BODY void finish(std::int64_t p, const Sum& sum) const {
    if (dshift) dshift[p] = sum.shift;
    dscale[p] = sum.scale;
  }
};

// The terms of dx through the mean and the variance, where statistics are not per channel.
struct StatisticGradients {
  using Sum = Pair;
  Through through;
  float *means, *slopes; // means may be null
  DLHOST_BODY Sum zero() const { return {0, 0}; }
  DLHOST_BODY void take(Sum& sum, std::int64_t s, std::int64_t term) const {
    const std::int64_t i = through.normal.groups.of_statistic(s, term);
    const float x = through.normal.normalised(i, s);
    const float dy = through(i, x) * through.normal.scale[through.normal.groups.param(i)];
    sum.shift += dy;
    sum.scale += dy * x;
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum.join(other); }
  DLHOST_BODY void finish(std::int64_t s, const Sum& sum) const {
    if (means) means[s] = sum.shift;
    slopes[s] = sum.scale;
  }
};

struct NormGradient {
  Through through;
  const float *means, *slopes; // null means: no mean; both null: the statistics were given and are constant
  bool unscaled;               // means and slopes are of dy without the scale: in batch norm, the params' gradients
  float each_part;             // one over the number of elements of a statistic
  std::int64_t counted;        // elements, counted from the first
  Target dx, daddend;
  DLHOST_BODY void operator()(std::int64_t i) const {
    const Normal& normal = through.normal;
    const std::int64_t s = normal.groups.statistic(i);
    const float x = normal.normalised(i, s), dy = through(i, x);
    if (daddend.data) daddend.set(i, dy);
    const float scale = normal.scale[normal.groups.param(i)];
    float inner = dy * scale;
    if (slopes && i < counted)
      inner -= ((means ? means[s] : 0) + x * slopes[s]) * (unscaled ? scale * each_part : each_part);
    dx.set(i, inner * normal.inverse(s));
  }
};

} // namespace dlhost::plugins::cuda
