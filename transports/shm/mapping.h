// A shared memory object as this process sees it: mapped once, whoever in it opens the object, and unmapped with the
// last who has it. So tasks of one process share page tables, and thread sanitizers, which know addresses and not
// memory, see what happens between them.
#pragma once

#include <memory>

#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/shared_memory_object.hpp>

namespace dlhost::plugins::shm {

using Mapping = std::shared_ptr<const boost::interprocess::mapped_region>;

// All of an object, which has its size by now. Throws what Boost.Interprocess throws.
Mapping map_once(const boost::interprocess::shared_memory_object&);

} // namespace dlhost::plugins::shm
