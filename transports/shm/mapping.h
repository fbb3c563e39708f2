// A shared memory object as this process sees it: mapped once, whoever in it opens the object, and unmapped with the
// last who has it. So tasks of one process share page tables, and thread sanitizers, which know addresses and not
// memory, see what happens between them.
#pragma once

#include <sys/types.h>

#include <memory>
#include <utility>

#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/shared_memory_object.hpp>

namespace dlhost::plugins::shm {

struct Mapped {
  // What the system calls the object: names are given anew, an inode is not while it is mapped.
  using Identity = std::pair<dev_t, ino_t>;

  boost::interprocess::mapped_region region;
  Identity identity;
  std::size_t users = 0;
};

struct Unmap {
  void operator()(const Mapped*) const;
};
using Mapping = std::unique_ptr<const Mapped, Unmap>;

// All of an object, which has its size by now. Throws what Boost.Interprocess throws.
Mapping map_once(const boost::interprocess::shared_memory_object&);

} // namespace dlhost::plugins::shm
