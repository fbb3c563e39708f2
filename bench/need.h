// Throws if a call that a benchmark depends on fails.
#pragma once

#include <stdexcept>
#include <utility>

#include <dlhost/status.h>

namespace dlhost::bench {

template <class T> T need(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().message());
  return *std::move(result);
}
inline void need(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

} // namespace dlhost::bench
