#include "mapping.h"

#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <mutex>

namespace dlhost::plugins::shm {

namespace bip = boost::interprocess;

namespace {

Mapped::Identity identity(const bip::shared_memory_object& object) {
  struct stat found {};
  if (fstat(object.get_mapping_handle().handle, &found) != 0) throw bip::interprocess_exception(bip::error_info(errno));
  return {found.st_dev, found.st_ino};
}

struct Process {
  std::mutex guard;
  std::map<Mapped::Identity, Mapped> mapped;
};

Process& process() {
  static Process one;
  return one;
}

} // namespace

Mapping map_once(const bip::shared_memory_object& object) {
  const auto key = identity(object);
  auto& [guard, mapped] = process();
  const std::scoped_lock lock(guard);
  auto found = mapped.find(key);
  if (found == mapped.end())
    found = mapped.emplace(key, Mapped{bip::mapped_region(object, bip::read_write), key}).first;
  ++found->second.users;
  return Mapping(&found->second);
}

void Unmap::operator()(const Mapped* one) const {
  auto& [guard, mapped] = process();
  const std::scoped_lock lock(guard);
  const auto found = mapped.find(one->identity);
  if (--found->second.users == 0) mapped.erase(found);
}

} // namespace dlhost::plugins::shm
