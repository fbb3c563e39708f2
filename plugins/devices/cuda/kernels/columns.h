// Row-major matrices by columns: sums down each column, and passes with values for each column. Tensors with channels
// last are such matrices. Neighbouring threads have neighbouring columns, `width` each, and go down the rows. As in
// launch.h, plain C++ does the same work with the same order of additions.
//
// Of both kinds of body
//   static constexpr int width;
//   static constexpr int ahead;                 rows that a thread reads before it works on the first of them
//   Columns of(std::int64_t column) const;      what a thread knows of its columns, from `column` on
//   Read read(std::int64_t row, std::int64_t column) const;                              the stored values
// of a pass
//   void operator()(const Columns&, const Read&, std::int64_t row, std::int64_t column) const;
// and of a sum
//   using Sum = ...;                                                                     trivially copyable
//   Sum zero() const;
//   void take(Sum (&)[width], const Columns&, const Read&) const;
//   void join(Sum&, const Sum&) const;
//   void finish(std::int64_t column, const Sum&) const;
#pragma once

#include <bit>

#include "launch.h"

namespace dlhost::plugins::cuda {

// The number of rows that a thread reads ahead, by the bytes it reads of a row. A GPU's memory is busy when each of its
// processors waits for some 30 KiB at once: 64 bytes of each of 500 threads. By itself the compiler would read a row,
// work on it, and read the next.
constexpr int rows_ahead(std::size_t bytes) { return static_cast<int>(std::clamp<std::size_t>(64 / bytes, 1, 8)); }

// A block is `across` threads wide and `down` high; the rows are cut into parts.
struct ColumnSplit {
  std::int32_t across = 32, down = 8;
  std::int64_t blocks = 1, parts = 1;
};

constexpr ColumnSplit column_split(std::int64_t rows, std::int64_t columns, int width, int rows_of_a_thread = 8) {
  constexpr std::int64_t most_across = 32, blocks_wanted = 2048;
  const std::int64_t groups = std::max<std::int64_t>(1, columns / width);
  ColumnSplit split;
  split.across = static_cast<std::int32_t>(
      std::min(most_across, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(groups)))));
  split.down = static_cast<std::int32_t>(block_threads / split.across);
  split.blocks = (groups + split.across - 1) / split.across;
  split.parts = std::max<std::int64_t>(1, std::min(rows / (std::int64_t{split.down} * rows_of_a_thread),
                                                   blocks_wanted / std::min(split.blocks, blocks_wanted)));
  return split;
}

// Bytes of scratch for a sum over at most so many rows.
template <class Sum> constexpr std::size_t column_room(std::int64_t rows, std::int64_t columns) {
  std::int64_t parts = 1;
  for (const int width : {1, 4}) parts = std::max(parts, column_split(rows, columns, width).parts);
  return parts == 1 ? 0 : static_cast<std::size_t>(columns * parts) * sizeof(Sum);
}

// Sums the parts of a column from the scratch.
template <class Body> struct JoinColumn {
  using Sum = typename Body::Sum;
  Body body;
  const Sum* sums;
  std::int64_t parts;
  DLHOST_BODY Sum zero() const { return body.zero(); }
  DLHOST_BODY void take(Sum& sum, std::int64_t column, std::int64_t part) const {
    body.join(sum, sums[column * parts + part]);
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { body.join(sum, other); }
  DLHOST_BODY void finish(std::int64_t column, const Sum& sum) const { body.finish(column, sum); }
};

// A thread's place in a split: its column, and its rows in a part.
struct ColumnPlace {
  std::int32_t x, y;
  std::int64_t column, first, last;
  DLHOST_BODY ColumnPlace(const ColumnSplit& split, int width, std::int64_t rows, std::int32_t thread,
                          std::int64_t block, std::int64_t part)
      : x(thread & (split.across - 1)), y(thread / split.across), column((block * split.across + x) * width),
        first(rows * part / split.parts + y), last(rows * (part + 1) / split.parts) {}
};

// Calls work(read, row) for the rows of a place, in order.
template <class Body, class Work>
DLHOST_BODY void down_rows(const Body& body, const ColumnPlace& at, std::int64_t step, const Work& work) {
  constexpr int ahead = Body::ahead;
  for (std::int64_t row = at.first; row < at.last; row += ahead * step) {
    typename Body::Read read[ahead];
    DLHOST_UNROLL
    for (int k = 0; k < ahead; ++k)
      if (row + k * step < at.last) read[k] = body.read(row + k * step, at.column);
    DLHOST_UNROLL
    for (int k = 0; k < ahead; ++k)
      if (row + k * step < at.last) work(read[k], row + k * step);
  }
}

#if defined(__CUDACC__)

template <class Body>
__global__ void __launch_bounds__(block_threads)
    reduce_columns_kernel(const __grid_constant__ Body body, std::int64_t rows, std::int64_t columns, ColumnSplit split,
                          typename Body::Sum* room) {
  using Sum = typename Body::Sum;
  constexpr int width = Body::width;
  __shared__ alignas(Sum) unsigned char bytes[block_threads * width * sizeof(Sum)];
  Sum* sums = reinterpret_cast<Sum*>(bytes);
  const std::int64_t part = blockIdx.y;
  const ColumnPlace at(split, width, rows, static_cast<std::int32_t>(threadIdx.x), blockIdx.x, part);
  const bool works = at.column < columns;
  Sum mine[width];
  for (int i = 0; i < width; ++i) mine[i] = body.zero();
  if (works) {
    const auto known = body.of(at.column);
    down_rows(body, at, split.down, [&](const auto& read, std::int64_t) { body.take(mine, known, read); });
  }
  for (int i = 0; i < width; ++i) sums[threadIdx.x * width + i] = mine[i];
  for (std::int32_t step = split.down / 2; step > 0; step /= 2) {
    __syncthreads(); // all threads of the block take the same steps
    if (at.y >= step) continue;
    for (int i = 0; i < width; ++i)
      body.join(sums[threadIdx.x * width + i], sums[(threadIdx.x + step * split.across) * width + i]);
  }
  if (at.y != 0 || !works) return;
  for (int i = 0; i < width; ++i) {
    if (split.parts == 1)
      body.finish(at.column + i, sums[threadIdx.x * width + i]);
    else
      room[(at.column + i) * split.parts + part] = sums[threadIdx.x * width + i];
  }
}

template <class Body>
void reduce_columns(WorkStream& stream, std::int64_t rows, std::int64_t columns, const Body& body, void* room) {
  static_assert(std::is_trivially_copyable_v<Body> && std::is_trivially_copyable_v<typename Body::Sum>);
  if (columns <= 0) return;
  const ColumnSplit split = column_split(rows, columns, Body::width);
  auto* sums = static_cast<typename Body::Sum*>(room);
  const dim3 grid(static_cast<unsigned>(split.blocks), static_cast<unsigned>(split.parts));
  reduce_columns_kernel<<<grid, block_threads, 0, static_cast<cudaStream_t>(stream.native())>>>(body, rows, columns,
                                                                                                split, sums);
  if (split.parts > 1) reduce_whole(stream, columns, split.parts, JoinColumn<Body>{body, sums, split.parts});
}

// Starts with the last rows: the previous pass ended there, and the cache may still have them.
template <class Body>
__global__ void __launch_bounds__(block_threads)
    each_row_kernel(const __grid_constant__ Body body, std::int64_t rows, std::int64_t columns, ColumnSplit split) {
  const ColumnPlace at(split, Body::width, rows, static_cast<std::int32_t>(threadIdx.x), blockIdx.x,
                       split.parts - 1 - static_cast<std::int64_t>(blockIdx.y));
  if (at.column >= columns) return;
  const auto known = body.of(at.column);
  down_rows(body, at, split.down, [&](const auto& read, std::int64_t row) { body(known, read, row, at.column); });
}

template <class Body> void each_row(WorkStream& stream, std::int64_t rows, std::int64_t columns, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (rows <= 0 || columns <= 0) return;
  const ColumnSplit split = column_split(rows, columns, Body::width, Body::ahead);
  const dim3 grid(static_cast<unsigned>(split.blocks), static_cast<unsigned>(split.parts));
  each_row_kernel<<<grid, block_threads, 0, static_cast<cudaStream_t>(stream.native())>>>(body, rows, columns, split);
}

#else

template <class Body>
void reduce_columns_on_host(std::int64_t rows, std::int64_t columns, const ColumnSplit& split, const Body& body,
                            typename Body::Sum* parts) {
  using Sum = typename Body::Sum;
  constexpr int width = Body::width;
  const auto sum_up = [&](std::int64_t block, std::int64_t part) {
    Sum sums[block_threads][width];
    for (std::int32_t thread = 0; thread < block_threads; ++thread) {
      for (Sum& sum : sums[thread]) sum = body.zero();
      const ColumnPlace at(split, width, rows, thread, block, part);
      if (at.column >= columns) continue;
      const auto known = body.of(at.column);
      down_rows(body, at, split.down, [&](const auto& read, std::int64_t) { body.take(sums[thread], known, read); });
    }
    for (std::int32_t step = split.down / 2 * split.across; step >= split.across; step /= 2)
      for (std::int32_t thread = 0; thread < step; ++thread)
        for (int i = 0; i < width; ++i) body.join(sums[thread][i], sums[thread + step][i]);
    for (std::int32_t x = 0; x < split.across; ++x)
      for (int i = 0; i < width; ++i) {
        const std::int64_t column = (block * split.across + x) * width + i;
        if (column >= columns) continue;
        if (split.parts == 1)
          body.finish(column, sums[x][i]);
        else
          parts[column * split.parts + part] = sums[x][i];
      }
  };
  for (std::int64_t block = 0; block < split.blocks; ++block)
    for (std::int64_t part = 0; part < split.parts; ++part) sum_up(block, part);
}

template <class Body>
void reduce_columns(WorkStream& stream, std::int64_t rows, std::int64_t columns, const Body& body, void* room) {
  static_assert(std::is_trivially_copyable_v<Body> && std::is_trivially_copyable_v<typename Body::Sum>);
  const ColumnSplit split = column_split(rows, columns, Body::width);
  auto* parts = static_cast<typename Body::Sum*>(room);
  launch_on_host(stream, body, [=](const Body& of) { reduce_columns_on_host(rows, columns, split, of, parts); });
  if (split.parts > 1) reduce_whole(stream, columns, split.parts, JoinColumn<Body>{body, parts, split.parts});
}

template <class Body>
void each_row_on_host(std::int64_t rows, std::int64_t columns, const ColumnSplit& split, const Body& body) {
  for (std::int64_t block = 0; block < split.blocks; ++block)
    for (std::int64_t part = split.parts; part-- > 0;)
      for (std::int32_t thread = 0; thread < block_threads; ++thread) {
        const ColumnPlace at(split, Body::width, rows, thread, block, part);
        if (at.column >= columns) continue;
        const auto known = body.of(at.column);
        down_rows(body, at, split.down, [&](const auto& read, std::int64_t row) { body(known, read, row, at.column); });
      }
}

template <class Body> void each_row(WorkStream& stream, std::int64_t rows, std::int64_t columns, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body>);
  const ColumnSplit split = column_split(rows, columns, Body::width, Body::ahead);
  launch_on_host(stream, body, [=](const Body& of) { each_row_on_host(rows, columns, split, of); });
}

#endif

} // namespace dlhost::plugins::cuda
