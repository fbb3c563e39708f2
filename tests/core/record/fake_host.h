// A host with a clock that only tests move, and real files; a terminal that keeps its output; a temporary folder.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <dlhost/parts.h>

#include "../../temporary_folder.h"
#include "env/disk.h"
#include "env/terminal.h"

namespace dlhost::record {

class FakeHost final : public Host, private dlhost::Clock {
 public:
  dlhost::Clock& clock() override { return *this; }
  Tasks& tasks() override { std::abort(); }
  Disk& disk() override { return *disk_; }
  Log& log() override { std::abort(); }
  Result<std::unique_ptr<Plugin>> make(Kind, const Part&) override { return Status::unsupported("a fake host"); }

  Nanoseconds time = 0;
  double wall = 1795245000.25; // 2026-11-21 07:10:00 UTC
  void set_disk(Disk& disk) { disk_ = &disk; }

 private:
  Nanoseconds now() override { return time; }
  void sleep(Nanoseconds) override { std::abort(); }
  double wall_seconds() override { return wall; }

  env::PosixDisk real_disk_;
  Disk* disk_ = &real_disk_;
};

class FakeTerminal final : public env::Terminal {
 public:
  bool interactive() override { return watched; }
  int columns() override { return width; }
  bool unicode() override { return false; }
  bool color() override { return false; }
  void write(std::string_view text) override { written += text; }

  bool watched = true;
  int width = 80;
  std::string written;
};

class RecordTest : public testing::Test {
 protected:
  test::TemporaryFolder folder_;
  FakeHost host_;
};

} // namespace dlhost::record
