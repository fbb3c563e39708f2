#include "env/simulated/disk.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "env/process/posix.h"

namespace dlhost::env::simulated {
namespace {

constexpr std::uint32_t longest_write = 2'000'000;
constexpr std::uint32_t appends_to_a_torn_one = 4;

// Until what was written is on the disk. Not ok: this process was killed, before or meanwhile.
Status settle(World& world, const char* doing, const std::string& path) {
  world.pause(1 + world.below(longest_write), "writes to disk");
  return world.lives() ? Status() : Status::io("cannot ", doing, " ", path, ": this process was killed");
}

Status full(const std::string& path) {
  return Status::no_space("cannot write ", path, ": the simulated disk is full; give it more room");
}

class OpenFile final : public File {
 public:
  OpenFile(std::string path, std::shared_ptr<Content> content) : path_(std::move(path)), content_(std::move(content)) {}
  std::uint64_t size() override { return content_->bytes.size(); }

  Status read_at(std::uint64_t offset, std::span<std::byte> into) override {
    const auto& bytes = content_->bytes;
    if (offset > bytes.size() || into.size() > bytes.size() - offset)
      return Status::corrupt("cannot read ", path_, ": it ends at byte ", bytes.size(), "; it was cut short");
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    return {};
  }

  // As it is now: a log may grow.
  std::span<const std::byte> map() override {
    if (mapped_.empty()) mapped_ = content_->bytes;
    return mapped_;
  }

 private:
  std::string path_;
  std::shared_ptr<Content> content_;
  std::vector<std::byte> mapped_;
};

class FileBeingWritten final : public NewFile {
 public:
  FileBeingWritten(World& world, Volume& volume, std::string path)
      : world_(world), volume_(volume), path_(std::move(path)), content_(std::make_shared<Content>()) {}
  ~FileBeingWritten() override {
    if (content_) volume_.give_back(content_->bytes.size());
  }

  Status append(std::span<const std::byte> bytes) override {
    if (!content_) return Status::internal(path_, " is committed already");
    if (!volume_.take(bytes.size())) return full(path_);
    content_->bytes.insert(content_->bytes.end(), bytes.begin(), bytes.end());
    return {};
  }

  Status commit() override {
    if (!content_) return Status::internal(path_, " is committed already");
    DLHOST_TRY(settle(world_, "sync", path_));
    volume_.give_back(content_->bytes.size());
    content_->synced = content_->bytes.size();
    volume_.put(Volume::normal(path_), std::move(content_));
    return {};
  }

 private:
  World& world_;
  Volume& volume_;
  std::string path_;
  std::shared_ptr<Content> content_; // null: it is where it belongs
};

class OpenLog final : public LogFile {
 public:
  OpenLog(World& world, Volume& volume, std::string path, std::shared_ptr<Content> content, DiskFault fault)
      : world_(world), volume_(volume), path_(std::move(path)), content_(std::move(content)), fault_(fault) {}

  Status append(std::string_view bytes) override {
    if (!world_.lives()) return Status::io("cannot write ", path_, ": this process was killed");
    if (!volume_.take(bytes.size())) return full(path_);
    volume_.give_back(bytes.size());
    if (fault_ == DiskFault::tears && world_.below(appends_to_a_torn_one) == 0)
      bytes = bytes.substr(0, bytes.size() / 2);
    for (const char letter : bytes) content_->bytes.push_back(static_cast<std::byte>(letter));
    return {};
  }

  Status sync() override {
    const std::size_t written = content_->bytes.size(); // what is appended meanwhile may not be there
    DLHOST_TRY(settle(world_, "sync", path_));
    if (fault_ != DiskFault::forgets) content_->synced = std::max(content_->synced, written);
    return {};
  }

 private:
  World& world_;
  Volume& volume_;
  std::string path_;
  std::shared_ptr<Content> content_;
  const DiskFault fault_;
};

} // namespace

SimulatedDisk::SimulatedDisk(World& world, Disk* beneath) : world_(world), beneath_(beneath) {}

void SimulatedDisk::crash(int machine) {
  volumes_[machine].crash([this](std::uint32_t n) { return world_.below(n); });
}

Result<std::unique_ptr<File>> SimulatedDisk::open(const std::string& path) {
  const std::string name = Volume::normal(path);
  if (here().is_folder(name)) return Status::invalid("cannot open ", path, ": it is a folder, not a file");
  if (auto content = here().find(name))
    return std::unique_ptr<File>(std::make_unique<OpenFile>(path, std::move(content)));
  if (beneath_) return beneath_->open(path);
  return failed(ENOENT, "open", path);
}

Status SimulatedDisk::parent_of(const std::string& path, const std::string& given, const char* doing) {
  if (!world_.lives()) return Status::io("cannot ", doing, " ", given, ": this process was killed");
  if (!here().is_folder(std::filesystem::path(path).parent_path().string())) return failed(ENOENT, doing, given);
  if (here().is_folder(path)) return failed(EISDIR, doing, given);
  return {};
}

Result<std::unique_ptr<NewFile>> SimulatedDisk::create(const std::string& path) {
  if (path.empty() || path.ends_with('/'))
    return Status::invalid("cannot create ", path, ": it names a folder, not a file");
  DLHOST_TRY(parent_of(Volume::normal(path), path, "create"));
  return std::unique_ptr<NewFile>(std::make_unique<FileBeingWritten>(world_, here(), path));
}

Result<std::unique_ptr<LogFile>> SimulatedDisk::open_log(const std::string& path) {
  const std::string name = Volume::normal(path);
  DLHOST_TRY(parent_of(name, path, "open"));
  auto content = here().find(name);
  if (!content) here().put(name, content = std::make_shared<Content>());
  return std::unique_ptr<LogFile>(std::make_unique<OpenLog>(world_, here(), path, std::move(content), fault_));
}

Result<std::vector<DirectoryEntry>> SimulatedDisk::list(const std::string& path) {
  const std::string name = Volume::normal(path);
  if (here().is_folder(name)) return here().list(name);
  if (beneath_) return beneath_->list(path);
  return failed(here().find(name) ? ENOTDIR : ENOENT, "list", path);
}

Status SimulatedDisk::make_directory(const std::string& path) {
  if (!world_.lives()) return Status::io("cannot make the folder ", path, ": this process was killed");
  if (here().make_folder(Volume::normal(path))) return {};
  return Status::exists("cannot make the folder ", path, ": a file has that name");
}

Status SimulatedDisk::rename(const std::string& from, const std::string& to) {
  DLHOST_TRY(settle(world_, "rename", from));
  const std::string source = Volume::normal(from), target = Volume::normal(to);
  if (!here().has(source)) return failed(ENOENT, concat("rename ", from, " to"), to);
  if (!here().is_folder(std::filesystem::path(target).parent_path().string()))
    return failed(ENOENT, concat("rename ", from, " to"), to);
  if (here().has(target) && here().is_folder(source) != here().is_folder(target))
    return failed(here().is_folder(target) ? EISDIR : ENOTDIR, concat("rename ", from, " to"), to);
  if (source != target) here().move(source, target);
  return {};
}

Status SimulatedDisk::remove(const std::string& path) {
  DLHOST_TRY(settle(world_, "remove", path));
  here().remove(Volume::normal(path));
  return {};
}

bool SimulatedDisk::exists(const std::string& path) {
  return here().has(Volume::normal(path)) || (beneath_ && beneath_->exists(path));
}

} // namespace dlhost::env::simulated
