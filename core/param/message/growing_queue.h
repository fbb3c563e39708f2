// Queues that grow while a run begins, and allocate nothing once they are as large as they get.
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
