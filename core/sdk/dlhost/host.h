// The host's services for a plugin: clock, tasks, files, other plugins and the log. Bundled plugins use these only
// through this interface, so that a simulation can replace all of them (docs/architecture.md, seams).
// Owns: a Host outlives every plugin. Thread: any, unless a part says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/kind.h>
#include <dlhost/schema.h>
#include <dlhost/status.h>

namespace dlhost {

// Nanoseconds of a clock that never goes back. Its zero is arbitrary and differs between processes.
using Nanoseconds = std::int64_t;

class DLHOST_API Clock {
 public:
  virtual ~Clock();
  virtual Nanoseconds now() = 0;
  virtual void sleep(Nanoseconds) = 0;
  // Seconds since 1970, for people and file names only; never for logic.
  virtual double wall_seconds() = 0;
};

// A thread in real runs, a fiber in simulation. The destructor joins.
class DLHOST_API Task {
 public:
  virtual ~Task();
  virtual void join() = 0;
};

// Lets tasks wait for each other in any host. Notifications are not stored: check your condition again.
class DLHOST_API Waiter {
 public:
  virtual ~Waiter();
  // wait() returns true when notify_all was called after ticket(), and false at the time limit.
  virtual std::uint64_t ticket() = 0;
  virtual bool wait(std::uint64_t ticket, Nanoseconds limit) = 0;
  virtual void notify_all() = 0;
};

class DLHOST_API Tasks {
 public:
  virtual ~Tasks();
  virtual std::unique_ptr<Task> start(std::string name, std::function<void()> body) = 0;
  virtual std::unique_ptr<Waiter> waiter() = 0;
};

// An open file. Thread: read_at may be called from several tasks at once.
class DLHOST_API File {
 public:
  virtual ~File();
  virtual std::uint64_t size() = 0;
  virtual Status read_at(std::uint64_t offset, std::span<std::byte> into) = 0;
  // The whole file mapped for reading, until the File is destroyed; empty: mapping is impossible.
  virtual std::span<const std::byte> map() = 0;
};

// A file being written. It becomes visible at commit(), which syncs it and renames it into place; without commit it
// disappears.
class DLHOST_API NewFile {
 public:
  virtual ~NewFile();
  virtual Status append(std::span<const std::byte>) = 0;
  virtual Status commit() = 0;
};

// A growing log: after a crash of this process each append is whole or absent. Bytes are written as given: a log of
// lines includes its line ends.
class DLHOST_API LogFile {
 public:
  virtual ~LogFile();
  virtual Status append(std::string_view bytes) = 0;
  virtual Status sync() = 0;
};

struct DirectoryEntry {
  std::string name;
  bool directory = false;
  std::uint64_t size = 0;
};

class DLHOST_API Disk {
 public:
  virtual ~Disk();
  virtual Result<std::unique_ptr<File>> open(const std::string& path) = 0;
  virtual Result<std::unique_ptr<NewFile>> create(const std::string& path) = 0;
  virtual Result<std::unique_ptr<LogFile>> open_log(const std::string& path) = 0;
  virtual Result<std::vector<DirectoryEntry>> list(const std::string& path) = 0; // sorted by name
  virtual Status make_directory(const std::string& path) = 0;                    // and its parents
  virtual Status rename(const std::string& from, const std::string& to) = 0;     // replaces, then syncs the folder
  virtual Status remove(const std::string& path) = 0;                            // a folder with its contents
  virtual bool exists(const std::string& path) = 0;

  // Reads a whole file; larger files than `limit` are errors.
  Result<std::vector<std::byte>> read_all(const std::string& path, std::uint64_t limit = std::uint64_t{1} << 36);
  Result<std::string> read_text(const std::string& path, std::uint64_t limit = std::uint64_t{1} << 30);
  // The file appears whole or not at all.
  Status write_all(const std::string& path, std::span<const std::byte>);
  Status write_text(const std::string& path, std::string_view);
};

enum class LogLevel : unsigned char { debug, info, warning, error };

class DLHOST_API Log {
 public:
  virtual ~Log();
  virtual bool shows(LogLevel) = 0;
  virtual void write(LogLevel, std::string_view) = 0;
};

class DLHOST_API Host {
 public:
  virtual ~Host();
  virtual Clock& clock() = 0;
  virtual Tasks& tasks() = 0;
  virtual Disk& disk() = 0;
  virtual Log& log() = 0;
  // Makes a product of another plugin from a checked part: the store of a URL, the inner schedule of a schedule.
  virtual Result<std::unique_ptr<Plugin>> make(Kind, const Part&) = 0;
};

} // namespace dlhost
