// A folder with one bad plugin in it, and the error message for its user.
#pragma once

#include <cstring>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlhost/parts.h>
#include <dlhost/random.h>

#include "fake_host.h"
#include "folder.h"
#include "plugin/faults.h"
#include "plugin/registry.h"

namespace dlhost::plugin {

inline constexpr Nanoseconds short_limit = 300'000'000;

class CorpusTest : public FolderTest {
 protected:
  static std::string built(const std::string& name) { return DLHOST_BAD_PLUGINS "/" + name + ".so"; }

  // Copies a bad plugin into the folder; `change` may damage it further.
  std::filesystem::path copy_of(const std::string& name, const std::function<void(std::string& bytes)>& change = {}) {
    entry_ = entry_with("plugins", built(name), "bad.so");
    const std::filesystem::path path = std::filesystem::path(entry_.path) / "bad.so";
    if (change) {
      std::ifstream in(path, std::ios::binary);
      std::string bytes{std::istreambuf_iterator<char>(in), {}};
      change(bytes);
      std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    }
    return path;
  }

  // The error for a request of the plugin; empty if it loads.
  std::string told() {
    Registry registry({&entry_, 1}, host_, short_limit);
    const auto factory = registry.factory(Kind::initializer, "bad");
    return factory.ok() ? "" : factory.status().message();
  }

  static void change_stamp(std::string& bytes, const std::function<void(Stamp&)>& change) {
    const auto magic = stamp_magic;
    const auto at = bytes.find(std::string_view(reinterpret_cast<const char*>(&magic), sizeof magic));
    ASSERT_NE(at, std::string::npos);
    Stamp stamp;
    std::memcpy(&stamp, bytes.data() + at, sizeof stamp);
    change(stamp);
    std::memcpy(bytes.data() + at, &stamp, sizeof stamp);
  }

  SearchEntry entry_;
  FakeHost host_;
};

} // namespace dlhost::plugin
