// Shared by the tests of sources and augmentations: a temporary folder, the build's plugins, and samples.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlhost/partition.h>
#include <dlhost/parts.h>
#include <dlhost/plugin.h>
#include <dlhost/source.h>

#include "../../plugin_host.h"
#include "../../temporary_folder.h"

namespace dlhost::test {

// An opened source after its setup.
struct Opened {
  Status status;
  std::unique_ptr<Source> source;
  std::vector<Port> outputs;

  // Reads one sample's outputs.
  std::vector<std::vector<std::byte>> read(Phase phase, std::int64_t index) {
    std::vector<std::vector<std::byte>> values;
    std::vector<std::byte*> places;
    for (const Port& port : outputs) values.emplace_back(port.desc.plain_bytes());
    for (auto& bytes : values) places.push_back(bytes.data());
    const Status read_status = source->read(phase, index, places);
    EXPECT_TRUE(read_status.ok()) << read_status.message();
    return values;
  }
  template <class T> std::vector<T> values(Phase phase, std::int64_t index, std::size_t output = 0) {
    const auto bytes = read(phase, index)[output];
    std::vector<T> list(bytes.size() / sizeof(T));
    std::memcpy(list.data(), bytes.data(), bytes.size());
    return list;
  }
  std::int32_t label(Phase phase, std::int64_t index) { return values<std::int32_t>(phase, index, 1).at(0); }
};

class SourceTest : public testing::Test {
 public:
  using Entries = std::vector<TableEntry>;

  Opened open(const std::string& type, Entries options) {
    Opened opened;
    auto made = host.make(Kind::layer, Part{type, Table{std::move(options), {}}});
    if (!made.ok()) {
      opened.status = made.status();
      return opened;
    }
    opened.source.reset(dynamic_cast<Source*>(made->release()));
    opened.status = opened.source->open(host, folder.path());
    if (!opened.status.ok()) return opened;
    dlhost::Setup setup;
    opened.status = opened.source->setup(setup);
    opened.outputs = setup.outputs;
    return opened;
  }
  void write(const std::string& name, std::string_view text) {
    const Status status = host.disk().write_text(folder / name, text);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  PluginHost host;
  TemporaryFolder folder;
};

} // namespace dlhost::test
