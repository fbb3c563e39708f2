// Runs bodies: `each` calls its body once for each item; `reduce` makes one sum for each item over all its terms. nvcc
// compiles this to kernels launched on the stream. Plain C++ does the same work at once, with additions in the same
// order.
//
// The body of a sum has
//   using Sum = ...;                                             trivially copyable
//   Sum zero() const;
//   void take(Sum&, std::int64_t item, std::int64_t term) const;  one term more
//   void join(Sum&, const Sum&) const;                            the terms of both
//   void finish(std::int64_t item, const Sum&) const;             once for each item
// The terms of an item are dealt to lanes in turn; the lanes' sums are joined as a tree. Few items with many terms are
// split into parts, whose sums are stored in the op's scratch (reduce_room). The order depends on the numbers of items
// and terms alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "body.h"
#include "work.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#else
#include "host_launch.h"
#endif

namespace dlhost::plugins::cuda {

// Joins an item's parts in their order.
template <class Body> struct JoinParts {
  Body body;
  const typename Body::Sum* sums;
  std::int64_t parts;
  DLHOST_BODY void operator()(std::int64_t item) const {
    typename Body::Sum sum = sums[item * parts];
    for (std::int64_t part = 1; part < parts; ++part) body.join(sum, sums[item * parts + part]);
    body.finish(item, sum);
  }
};

#if defined(__CUDACC__)

template <class Body> __global__ void each_kernel(const __grid_constant__ Body body, std::int64_t items) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < items; i += stride)
    body(i);
}

template <class Body> void each(WorkStream& stream, std::int64_t items, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (items <= 0) return;
  constexpr std::int64_t most_blocks = 1 << 16;
  const auto blocks = static_cast<unsigned>(std::min((items + block_threads - 1) / block_threads, most_blocks));
  each_kernel<<<blocks, block_threads, 0, static_cast<cudaStream_t>(stream.native())>>>(body, items);
}

// A group of `lanes` threads makes the sum of one part of one item.
template <class Body>
__global__ void reduce_kernel(const __grid_constant__ Body body, std::int64_t items, std::int64_t terms, Split split,
                              typename Body::Sum* room) {
  using Sum = typename Body::Sum;
  __shared__ alignas(Sum) unsigned char bytes[block_threads * sizeof(Sum)];
  Sum* sums = reinterpret_cast<Sum*>(bytes);
  const std::int64_t groups = block_threads / split.lanes, lane = threadIdx.x % split.lanes;
  const std::int64_t group = blockIdx.x * groups + threadIdx.x / split.lanes;
  const std::int64_t item = group / split.parts, part = group % split.parts;
  const bool works = item < items;
  Sum mine = body.zero();
  if (works) {
    const std::int64_t last = terms * (part + 1) / split.parts;
    for (std::int64_t term = terms * part / split.parts + lane; term < last; term += split.lanes)
      body.take(mine, item, term);
  }
  sums[threadIdx.x] = mine;
  for (std::int64_t step = split.lanes / 2; step > 0; step /= 2) {
    __syncthreads(); // all threads of the block take the same steps
    if (lane < step) body.join(sums[threadIdx.x], sums[threadIdx.x + step]);
  }
  if (lane != 0 || !works) return;
  if (split.parts == 1)
    body.finish(item, sums[threadIdx.x]);
  else
    room[group] = sums[threadIdx.x];
}

template <class Body>
void reduce_split(WorkStream& stream, std::int64_t items, std::int64_t terms, const Split& split, const Body& body,
                  void* room) {
  static_assert(std::is_trivially_copyable_v<Body> && std::is_trivially_copyable_v<typename Body::Sum>);
  if (items <= 0) return;
  const std::int64_t groups = block_threads / split.lanes;
  const auto blocks = static_cast<unsigned>((items * split.parts + groups - 1) / groups);
  reduce_kernel<<<blocks, block_threads, 0, static_cast<cudaStream_t>(stream.native())>>>(
      body, items, terms, split, static_cast<typename Body::Sum*>(room));
}

#else

template <class Body> void each(WorkStream& stream, std::int64_t items, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body>);
  launch_on_host(stream, body, [items](const Body& of) {
    for (std::int64_t i = 0; i < items; ++i) of(i);
  });
}

template <class Body>
void reduce_on_host(std::int64_t items, std::int64_t terms, const Split& split, const Body& body,
                    typename Body::Sum* parts) {
  using Sum = typename Body::Sum;
  for (std::int64_t group = 0; group < items * split.parts; ++group) {
    const std::int64_t item = group / split.parts, part = group % split.parts;
    const std::int64_t last = terms * (part + 1) / split.parts;
    Sum sums[block_threads];
    for (std::int64_t lane = 0; lane < split.lanes; ++lane) {
      sums[lane] = body.zero();
      for (std::int64_t term = terms * part / split.parts + lane; term < last; term += split.lanes)
        body.take(sums[lane], item, term);
    }
    for (std::int64_t step = split.lanes / 2; step > 0; step /= 2)
      for (std::int64_t lane = 0; lane < step; ++lane) body.join(sums[lane], sums[lane + step]);
    if (split.parts == 1)
      body.finish(item, sums[0]);
    else
      parts[group] = sums[0];
  }
}

template <class Body>
void reduce_split(WorkStream& stream, std::int64_t items, std::int64_t terms, const Split& split, const Body& body,
                  void* room) {
  static_assert(std::is_trivially_copyable_v<Body> && std::is_trivially_copyable_v<typename Body::Sum>);
  launch_on_host(stream, body, [=](const Body& of) {
    reduce_on_host(items, terms, split, of, static_cast<typename Body::Sum*>(room));
  });
}

#endif

template <class Body>
void reduce(WorkStream& stream, std::int64_t items, std::int64_t terms, const Body& body, void* room) {
  const Split split = split_of(items, terms);
  reduce_split(stream, items, terms, split, body, room);
  if (split.parts > 1)
    each(stream, items, JoinParts<Body>{body, static_cast<const typename Body::Sum*>(room), split.parts});
}

// In one part, for any number of terms: needs no scratch.
template <class Body> void reduce_whole(WorkStream& stream, std::int64_t items, std::int64_t terms, const Body& body) {
  reduce_split(stream, items, terms, {split_of(items, terms).lanes, 1}, body, nullptr);
}

} // namespace dlhost::plugins::cuda
