// A mapping of a shared memory object, shared by all users in this process and unmapped with the last. So tasks of one
// process share page tables, and thread sanitizers, which track addresses, see accesses between tasks.
#pragma once

#include <sys/types.h>

#include <memory>
#include <utility>

#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/shared_memory_object.hpp>

namespace dlhost::plugins::shm {

struct Mapped {
  // The system's identity of the object: names are reused, but an inode is not while it is mapped.
  using Identity = std::pair<dev_t, ino_t>;

  boost::interprocess::mapped_region region;
  Identity identity;
  std::size_t users = 0;
};

struct Unmap {
  void operator()(const Mapped*) const;
};
using Mapping = std::unique_ptr<const Mapped, Unmap>;

// Maps the whole object. Requires: it has its size. Throws Boost.Interprocess exceptions.
Mapping map_once(const boost::interprocess::shared_memory_object&);

} // namespace dlhost::plugins::shm
