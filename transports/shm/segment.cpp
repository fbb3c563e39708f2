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

void Segment::create(const std::string& name) {
  object_ = bip::shared_memory_object(bip::create_only, name.c_str(), bip::read_write, bip::permissions(0600));
  name_ = name;
}

Status Segment::reserve(std::size_t bytes) {
  if (const int error = posix_fallocate(file(), 0, static_cast<off_t>(bytes)); error != 0)
    return no_room(name_, bytes, error);
  mapped_ = map_once(object_);
  return {};
}

Result<Segment> Segment::make(std::string name, std::size_t bytes) {
  try {
    Segment made;
    made.create(name);
    DLHOST_TRY(made.reserve(bytes));
    made.object_ = {};
    return made;
  } catch (const bip::interprocess_exception& error) {
    return failed(error, name, "making");
  }
}

// Until the lock is taken, others may take the segment for that of a dead process and remove its name.
Result<Segment> Segment::make_owned(std::string name, std::size_t bytes) {
  try {
    while (true) {
      Segment made;
      made.create(name);
      if (flock(made.file(), LOCK_EX) != 0) return Status::system(errno, concat("locking shared memory '", name, "'"));
      if (made.has_name()) {
        DLHOST_TRY(made.reserve(bytes));
        return made;
      }
      made.name_.clear();
    }
  } catch (const bip::interprocess_exception& error) {
    return failed(error, name, "making");
  }
}

std::optional<Segment> Segment::take_left(const std::string& name) {
  try {
    Segment left;
    left.object_ = bip::shared_memory_object(bip::open_only, name.c_str(), bip::read_write);
    if (!left.try_own() || !left.has_name()) return std::nullopt; // its name may be another segment's by now
    left.name_ = name;
    return left;
  } catch (const bip::interprocess_exception&) {
    return std::nullopt; // another process has removed it
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

bool Segment::try_own() const { return flock(file(), LOCK_EX | LOCK_NB) == 0; }

bool Segment::has_name() const {
  struct stat found {};
  return fstat(file(), &found) == 0 && found.st_nlink > 0;
}

int Segment::file() const { return object_.get_mapping_handle().handle; }

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
    // The inbox goes last: while it exists, another process will come back for the rest.
    const auto inbox = Segment::take_left(name);
    if (!inbox) continue;
    const std::string owner = name.substr(0, name.size() - inbox_suffix.size());
    for (const auto& left : segments_with(owner + "."))
      if (left != name) bip::shared_memory_object::remove(left.c_str());
  }
}

} // namespace dlhost::plugins::shm
