// A named segment of shared memory (Boost.Interprocess). Its memory is reserved when made: missing memory would cause a
// SIGBUS at the first access.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/interprocess/shared_memory_object.hpp>

#include <dlhost/status.h>

#include "mapping.h"

namespace dlhost::plugins::shm {

class Segment {
 public:
  // Zeroed. Removed with this object, unless the other side has removed its name before.
  static Result<Segment> make(std::string name, std::size_t bytes);
  // The same, with a lock that shows that this process lives. It is kept until the process ends, even by a kill.
  static Result<Segment> make_owned(std::string name, std::size_t bytes);
  // A mapping needs no open file; a lock does. A process has few descriptors, and there is a ring for each pair.
  enum class File { close, keep };
  static Result<Segment> open(std::string name, File = File::close);
  // A segment whose owner is dead, perhaps before it had memory: removed with this object. None: it has a living owner.
  static std::optional<Segment> take_left(const std::string& name);

  Segment() = default;
  Segment(Segment&&) noexcept = default;
  Segment& operator=(Segment&&) noexcept;
  ~Segment();

  void* data() const { return mapped_ ? mapped_->region.get_address() : nullptr; }
  std::size_t size() const { return mapped_ ? mapped_->region.get_size() : 0; }
  // Removes the name; the memory lives as long as it is mapped.
  void remove_name();
  // Takes the lock that the segment's owner holds until its process ends. True: the owner is dead. Keeps the file open.
  bool try_own() const;

 private:
  void create(const std::string& name);
  Status reserve(std::size_t bytes);
  bool has_name() const; // no process has removed it
  int file() const;

  std::string name_;                                 // empty: this object does not remove it
  boost::interprocess::shared_memory_object object_; // with its file open, if kept
  Mapping mapped_;
};

// Removes segments of this user's dead processes.
void remove_leftovers();
// "dlhost-USER-": the prefix of all segments of this user.
std::string prefix_of_user();
std::vector<std::string> segments_with(const std::string& prefix);

} // namespace dlhost::plugins::shm
