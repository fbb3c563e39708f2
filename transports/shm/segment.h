// A named piece of shared memory (Boost.Interprocess), reserved when it is made: what is not there would be a SIGBUS
// later, in whoever touches it first.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/interprocess/shared_memory_object.hpp>

#include <dlhost/status.h>

#include "mapping.h"

namespace dlhost::plugins::shm {

class Segment {
 public:
  // What is mapped needs no file; what is to be owned does. A process has few files, and there is a ring for each pair.
  enum class File { close, keep };
  // Zeroed. Removed with this object, unless the other side has removed its name by then.
  static Result<Segment> make(std::string name, std::size_t bytes, File = File::close);
  static Result<Segment> open(std::string name, File = File::close);

  Segment() = default;
  Segment(Segment&&) noexcept = default;
  Segment& operator=(Segment&&) noexcept;
  ~Segment();

  void* data() const { return mapped_ ? mapped_->region.get_address() : nullptr; }
  std::size_t size() const { return mapped_ ? mapped_->region.get_size() : 0; }
  // Nobody finds it any more; it lives on while it is mapped.
  void remove_name();
  // Held until the process that owns the segment has ended; whoever gets it knows that nobody does. Keeps its file.
  bool try_own() const;

 private:
  std::string name_;                                 // empty: not ours to remove
  boost::interprocess::shared_memory_object object_; // while its file is kept
  Mapping mapped_;
};

// Removes what processes of this user have left behind that ended without doing so.
void remove_leftovers();
// "dlhost-USER-": what the names of all segments of this user begin with.
std::string prefix_of_user();
std::vector<std::string> segments_with(const std::string& prefix);

} // namespace dlhost::plugins::shm
