// Loads a job from texts in memory.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "fakes.h"

namespace dlhost::config {

class LoadTest : public testing::Test {
 protected:
  // The error message; empty if loading succeeds.
  std::string problems(const std::string& text, std::vector<std::string> overrides = {}) {
    disk.files["job.toml"] = text;
    const auto job = load(disk, "job.toml", overrides, plugins);
    return job.ok() ? "" : job.status().message();
  }
  Job job(const std::string& text, std::vector<std::string> overrides = {}, const std::string& path = "job.toml") {
    disk.files[path] = text;
    auto job = load(disk, path, overrides, plugins);
    EXPECT_TRUE(job.ok()) << job.status().message();
    return job.ok() ? std::move(*job) : Job{};
  }

  MemoryDisk disk;
  FakePlugins plugins;
};

} // namespace dlhost::config
