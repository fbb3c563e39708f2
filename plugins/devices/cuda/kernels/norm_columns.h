// Batch norm for channels-last tensors: channels are the columns of a matrix, its rows the places of all samples. With
// or without addend, and with or without relu after it. Memory traffic is the minimum.
#pragma once

#include "columns.h"
#include "spread.h"
#include "vector.h"

namespace dlhost::plugins::cuda {

struct ChannelParams {
  const float *scale, *shift, *mean, *variance;
  float epsilon;
  DLHOST_BODY float inverse(std::int64_t channel) const { return inverse_root(variance[channel] + epsilon); }
};

struct Pair {
  float shift, scale;
  DLHOST_BODY void join(const Pair& other) {
    shift += other.shift;
    scale += other.scale;
  }
};

template <class T, int columns_each> struct ColumnStatistics {
  static constexpr int width = columns_each;
  using Read = Together<typename T::Bits, width>;
  static constexpr int ahead = rows_ahead(sizeof(Read));
  using Sum = Spread;
  struct Columns {};
  const void* x;
  std::int64_t channels;
  float *mean, *variance;
  DLHOST_BODY Columns of(std::int64_t) const { return {}; }
  DLHOST_BODY Sum zero() const { return {}; }
  DLHOST_BODY Read read(std::int64_t row, std::int64_t column) const {
    return read_some<T, width>(x, row * channels + column);
  }
  DLHOST_BODY void take(Sum (&sums)[width], const Columns&, const Read& read) const {
    const auto values = values_of<T, width>(read);
    for (int i = 0; i < width; ++i) sums[i].take(values.at[i]);
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum.join(other); }
  DLHOST_BODY void finish(std::int64_t column, const Sum& sum) const {
    mean[column] = sum.mean();
    variance[column] = sum.variance();
  }
};

// The norm as factors of x.
template <int width> struct ColumnScales {
  float mean[width], inverse[width], factor[width], shift[width];
  DLHOST_BODY ColumnScales(const ChannelParams& params, std::int64_t column) {
    for (int i = 0; i < width; ++i) {
      mean[i] = params.mean[column + i];
      inverse[i] = params.inverse(column + i);
      factor[i] = params.scale[column + i] * inverse[i];
      shift[i] = params.shift[column + i];
    }
  }
  DLHOST_BODY float result(int i, float x) const { return (x - mean[i]) * factor[i] + shift[i]; }
};

template <class T, int columns_each> struct ColumnNorm {
  static constexpr int width = columns_each;
  struct Read {
    Together<typename T::Bits, width> x, addend;
  };
  static constexpr int ahead = rows_ahead(sizeof(Read));
  using Columns = ColumnScales<width>;
  ChannelParams params;
  std::int64_t channels;
  bool relu;
  const void *x, *addend; // null addend: none
  void* y;
  DLHOST_BODY Columns of(std::int64_t column) const { return {params, column}; }
  DLHOST_BODY Read read(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * channels + column;
    Read read{read_some<T, width>(x, at), {}};
    if (addend) read.addend = read_some<T, width>(addend, at);
    return read;
  }
  DLHOST_BODY void operator()(const Columns& known, const Read& read, std::int64_t row, std::int64_t column) const {
    auto values = values_of<T, width>(read.x);
    for (int i = 0; i < width; ++i) values.at[i] = known.result(i, values.at[i]);
    if (addend) {
      const auto added = values_of<T, width>(read.addend);
      for (int i = 0; i < width; ++i) values.at[i] += added.at[i];
    }
    if (relu)
      for (int i = 0; i < width; ++i) values.at[i] = values.at[i] < 0 ? 0.0F : values.at[i];
    store_some<T, width>(y, row * channels + column, values);
  }
};

// x, and dy before the relu. The relu's slope comes from y if given, else from the recomputed output.
template <class T, int width> struct ColumnThrough {
  struct Read {
    Together<typename T::Bits, width> x, dy, y;
  };
  static constexpr int ahead = std::min(4, rows_ahead(2 * sizeof(Together<typename T::Bits, width>))); // y: rarely used
  std::int64_t channels;
  bool relu;
  const void *x, *dy, *y;
  DLHOST_BODY Read read(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * channels + column;
    Read read{read_some<T, width>(x, at), read_some<T, width>(dy, at), {}};
    if (y) read.y = read_some<T, width>(y, at);
    return read;
  }
  DLHOST_BODY Floats<width> operator()(const ColumnScales<width>& known, const Read& read,
                                       const Floats<width>& x_values) const {
    auto values = values_of<T, width>(read.dy);
    if (!relu) return values;
    if (y) {
      const auto results = values_of<T, width>(read.y);
      for (int i = 0; i < width; ++i) values.at[i] = results.at[i] > 0 ? values.at[i] : 0.0F;
    } else {
      for (int i = 0; i < width; ++i) values.at[i] = known.result(i, x_values.at[i]) > 0 ? values.at[i] : 0.0F;
    }
    return values;
  }
};

// The gradients of shift and scale.
template <class T, int columns_each> struct ColumnParamGradients {
  static constexpr int width = columns_each;
  using Read = typename ColumnThrough<T, width>::Read;
  static constexpr int ahead = ColumnThrough<T, width>::ahead;
  using Sum = Pair;
  using Columns = ColumnScales<width>;
  ChannelParams params;
  ColumnThrough<T, width> through;
  float *dscale, *dshift;
  DLHOST_BODY Columns of(std::int64_t column) const { return {params, column}; }
  DLHOST_BODY Sum zero() const { return {0, 0}; }
  DLHOST_BODY Read read(std::int64_t row, std::int64_t column) const { return through.read(row, column); }
  DLHOST_BODY void take(Sum (&sums)[width], const Columns& known, const Read& read) const {
    const auto x = values_of<T, width>(read.x), dy = through(known, read, x);
    for (int i = 0; i < width; ++i) {
      sums[i].shift += dy.at[i];
      sums[i].scale += dy.at[i] * ((x.at[i] - known.mean[i]) * known.inverse[i]);
    }
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum.join(other); }
  DLHOST_BODY void finish(std::int64_t column, const Sum& sum) const {
    dshift[column] = sum.shift;
    dscale[column] = sum.scale;
  }
};

// dx = factor dy; in rows that count, minus the terms through the mean and the variance: linear in x.
template <class T, int columns_each> struct ColumnNormGradient {
  static constexpr int width = columns_each;
  using Read = typename ColumnThrough<T, width>::Read;
  static constexpr int ahead = ColumnThrough<T, width>::ahead;
  struct Columns {
    ColumnScales<width> scales;
    float slope[width], offset[width];
  };
  ChannelParams params;
  ColumnThrough<T, width> through;
  const float *dscale, *dshift; // null: the statistics were given and are constant
  float each_part;              // one over the number of rows that count
  std::int64_t counted;         // rows
  void *dx, *daddend;           // null daddend: none
  DLHOST_BODY Columns of(std::int64_t column) const {
    Columns known{{params, column}, {}, {}};
    for (int i = 0; dscale && i < width; ++i) {
      const float part = known.scales.factor[i] * each_part;
      known.slope[i] = -part * known.scales.inverse[i] * dscale[column + i];
      known.offset[i] = -part * dshift[column + i];
    }
    return known;
  }
  DLHOST_BODY Read read(std::int64_t row, std::int64_t column) const { return through.read(row, column); }
  DLHOST_BODY void operator()(const Columns& known, const Read& read, std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * through.channels + column;
    const auto x = values_of<T, width>(read.x), dy = through(known.scales, read, x);
    if (daddend) store_some<T, width>(daddend, at, dy);
    Floats<width> made;
    for (int i = 0; i < width; ++i) {
      made.at[i] = dy.at[i] * known.scales.factor[i];
      if (row < counted) made.at[i] += (x.at[i] - known.scales.mean[i]) * known.slope[i] + known.offset[i];
    }
    store_some<T, width>(dx, at, made);
  }
};

} // namespace dlhost::plugins::cuda
