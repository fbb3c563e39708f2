// The files that env/disk hands out.
#pragma once

#include <mutex>

#include <dlhost/host.h>

#include "env/process/posix.h"

namespace dlhost::env {

class PosixFile : public File {
 public:
  static Result<std::unique_ptr<File>> open(const std::string& path);
  PosixFile(std::string path, Descriptor descriptor, std::uint64_t size);
  ~PosixFile() override;
  std::uint64_t size() override { return size_; }
  Status read_at(std::uint64_t offset, std::span<std::byte> into) override;
  std::span<const std::byte> map() override;

 private:
  std::string path_;
  Descriptor descriptor_;
  std::uint64_t size_;
  std::once_flag map_once_;
  std::span<const std::byte> map_;
};

class PosixNewFile : public NewFile {
 public:
  static Result<std::unique_ptr<NewFile>> create(const std::string& path);
  PosixNewFile(std::string path, std::string hidden, Descriptor descriptor);
  ~PosixNewFile() override;
  Status append(std::span<const std::byte>) override;
  Status commit() override;

 private:
  Status flush();

  std::string path_;
  std::string hidden_; // where it is written; empty once it is gone from there
  Descriptor descriptor_;
  std::vector<std::byte> gathered_; // small appends, until they are worth a call
};

class PosixLogFile : public LogFile {
 public:
  static Result<std::unique_ptr<LogFile>> open(const std::string& path);
  PosixLogFile(std::string path, Descriptor descriptor) : path_(std::move(path)), descriptor_(std::move(descriptor)) {}
  Status append(std::string_view bytes) override;
  Status sync() override;

 private:
  std::string path_;
  Descriptor descriptor_;
};

} // namespace dlhost::env
