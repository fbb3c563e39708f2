#include "segment.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "inbox.h"

namespace dlhost::plugins::shm {

namespace bip = boost::interprocess;

namespace {

constexpr char folder[] = "/dev/shm";

Status no_room(const std::string& name, std::size_t bytes, int error) {
  std::error_code unknown;
  const auto free = std::filesystem::space(folder, unknown).available;
  if (error != ENOSPC) return Status::system(error, concat("reserving shared memory '", name, "'"));
  return Status::no_space("shared memory is full: ", bytes, " bytes are wanted for '", name, "', ", free,
                          " are free in ", folder,
                          "; make it larger (mount -o remount,size=...), or use fewer workers or smaller rings");
}

Status failed(const bip::interprocess_exception& error, const std::string& name, std::string_view doing) {
  if (error.get_error_code() == bip::not_found_error)
    return Status::not_found("there is no shared memory '", name, "'");
  const int number = error.get_native_error();
  return Status::system(number, concat(doing, " shared memory '", name, "'",
                                       number == EMFILE ? " (`ulimit -n` is the limit of open files)" : ""));
}

} // namespace

Result<Segment> Segment::make(std::string name, std::size_t bytes, File file) {
  try {
    Segment made;
    made.object_ = bip::shared_memory_object(bip::create_only, name.c_str(), bip::read_write, bip::permissions(0600));
    made.name_ = name;
    const int handle = made.object_.get_mapping_handle().handle;
    if (const int error = posix_fallocate(handle, 0, static_cast<off_t>(bytes)); error != 0)
      return no_room(name, bytes, error);
    made.mapped_ = map_once(made.object_);
    if (file == File::close) made.object_ = {};
    return made;
  } catch (const bip::interprocess_exception& error) {
    return failed(error, name, "making");
  }
}

Result<Segment> Segment::open(std::string name, File file) {
  try {
    Segment made;
    made.object_ = bip::shared_memory_object(bip::open_only, name.c_str(), bip::read_write);
    bip::offset_t size = 0;
    if (!made.object_.get_size(size) || size <= 0) return Status::corrupt("shared memory '", name, "' is empty");
    made.mapped_ = map_once(made.object_);
    if (file == File::close) made.object_ = {};
    return made;
  } catch (const bip::interprocess_exception& error) {
    return failed(error, name, "opening");
  }
}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(name_, other.name_);
  object_.swap(other.object_);
  mapped_.swap(other.mapped_);
  return *this;
}

Segment::~Segment() { remove_name(); }

void Segment::remove_name() {
  if (!name_.empty()) bip::shared_memory_object::remove(name_.c_str());
  name_.clear();
}

bool Segment::try_own() const { return flock(object_.get_mapping_handle().handle, LOCK_EX | LOCK_NB) == 0; }

std::string prefix_of_user() { return concat("dlhost-", geteuid(), "-"); }

std::vector<std::string> segments_with(const std::string& prefix) {
  std::vector<std::string> names;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable))
    if (auto name = entry.path().filename().string(); name.starts_with(prefix)) names.push_back(std::move(name));
  return names;
}

void remove_leftovers() {
  for (const auto& name : segments_with(prefix_of_user())) {
    if (!name.ends_with(inbox_suffix)) continue;
    auto inbox = Segment::open(name, Segment::File::keep);
    if (!inbox.ok() || Inbox::layout_of(*inbox) == 0 || !inbox->try_own()) continue;
    const std::string owner = name.substr(0, name.size() - inbox_suffix.size());
    // The inbox goes last: while it exists, another process will come back for the rest.
    for (const auto& left : segments_with(owner + "."))
      if (left != name) bip::shared_memory_object::remove(left.c_str());
    bip::shared_memory_object::remove(name.c_str());
  }
}

} // namespace dlhost::plugins::shm
