#include "mapping.h"

#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

namespace dlhost::plugins::shm {

namespace bip = boost::interprocess;

namespace {

// By what the system calls the object: names are given anew, an inode is not while it is mapped.
using Identity = std::pair<dev_t, ino_t>;

Identity identity(const bip::shared_memory_object& object) {
  struct stat found {};
  if (fstat(object.get_mapping_handle().handle, &found) != 0) throw bip::interprocess_exception(bip::error_info(errno));
  return {found.st_dev, found.st_ino};
}

} // namespace

Mapping map_once(const bip::shared_memory_object& object) {
  static std::mutex guard;
  static std::map<Identity, std::weak_ptr<const bip::mapped_region>> mapped;
  const Identity key = identity(object);
  const std::scoped_lock lock(guard);
  std::erase_if(mapped, [](const auto& entry) { return entry.second.expired(); });
  auto& known = mapped[key];
  if (auto shared = known.lock()) return shared;
  auto made = std::make_shared<const bip::mapped_region>(object, bip::read_write);
  known = made;
  return made;
}

} // namespace dlhost::plugins::shm
