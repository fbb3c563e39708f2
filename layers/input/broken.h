// Remembers the broken pictures of a set. Thread: any; no task waits for another.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::input {

// Whether the file itself is faulty. Other errors (an unresponsive disk, no memory) may be gone at the next read.
inline bool blames_the_file(const Status& status) {
  return status.code() == Code::corrupt || status.code() == Code::invalid || status.code() == Code::not_found;
}

class BrokenPictures {
 public:
  explicit BrokenPictures(std::int64_t pictures) : known_(static_cast<std::size_t>(pictures)) {}

  bool knows(std::int64_t picture) const {
    return known_[static_cast<std::size_t>(picture)].load(std::memory_order_relaxed);
  }
  // The new number of broken pictures if this one was not known; else 0.
  std::int64_t add(std::int64_t picture) {
    if (known_[static_cast<std::size_t>(picture)].exchange(true, std::memory_order_relaxed)) return 0;
    return count_.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  // The first broken pictures in the set's order, at most `most`.
  std::vector<std::int64_t> first(std::size_t most) const {
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i < known_.size() && found.size() < most; ++i)
      if (knows(static_cast<std::int64_t>(i))) found.push_back(static_cast<std::int64_t>(i));
    return found;
  }

 private:
  std::vector<std::atomic<bool>> known_;
  std::atomic<std::int64_t> count_{0};
};

} // namespace dlhost::input
