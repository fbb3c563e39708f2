// Queues that grow at the start of a run and stop allocating when they have reached their largest size.
#pragma once

#include <algorithm>
#include <utility>

#include <boost/circular_buffer.hpp>

namespace dlhost::param {

template <class T> void append(boost::circular_buffer<T>& queue, T value) {
  constexpr std::size_t least = 64;
  if (queue.full()) queue.set_capacity(std::max(least, queue.capacity() * 2));
  queue.push_back(std::move(value));
}

} // namespace dlhost::param
