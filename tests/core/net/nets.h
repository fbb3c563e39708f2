// Nets of the build's own layers, listed in a test: no job file, no samples.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "env/real_host.h"
#include "net/graph.h"
#include "plugin/registry.h"

namespace dlhost::test {

// A layer of a list. A source is written "layer" or "layer:output".
inline config::Layer layer(std::string name, std::string type, const std::vector<std::string>& src,
                           std::vector<TableEntry> options = {}) {
  config::Layer made{.name = std::move(name), .type = std::move(type), .options = {std::move(options), {}}};
  for (const auto& from : src) {
    const auto colon = from.find(':');
    made.src.push_back({from.substr(0, colon), colon == std::string::npos ? "" : from.substr(colon + 1), {}});
  }
  return made;
}
inline TableEntry option(std::string key, std::int64_t value) { return {std::move(key), Value{value, {}}}; }
inline TableEntry option(std::string key, bool value) { return {std::move(key), Value{value, {}}}; }

inline config::Layer source() { return {.name = "data", .type = "source"}; }
inline config::Layer loss(const std::string& of) { return layer("loss", "euclidean_loss", {of, "data:target"}); }
inline config::Layer dense(std::string name, const std::string& from, std::int64_t units) {
  return layer(std::move(name), "dense", {from}, {option("units", units), option("bias", false)});
}

// The layer with its weight under this name, which other layers may have as well.
inline config::Layer sharing(config::Layer layer, std::string name) {
  layer.params.push_back({.name = "weight", .share = std::move(name)});
  return layer;
}

// A net from "data" to "loss" in which all layers but these have one shape: "data" has two outputs with `width`
// elements a sample. Each layer reads one of the last few before it; what no layer reads goes into the loss.
inline std::vector<config::Layer> drawn_net(std::mt19937& draws, const std::vector<std::string>& types,
                                            std::int64_t width) {
  std::vector<config::Layer> net{source()};
  std::vector<int> readers{0};
  const auto below = [&](std::size_t most) { return draws() % most; };
  const std::size_t count = 3 + below(8);
  while (net.size() <= count) {
    const std::string& type = types[below(types.size())];
    std::vector<std::string> src;
    for (std::size_t inputs = type == "add" ? 2 + below(2) : 1; inputs > 0; --inputs) {
      const std::size_t from = net.size() - 1 - below(std::min<std::size_t>(net.size(), 4));
      ++readers[from];
      src.push_back(net[from].name);
    }
    const std::string name = concat(type, net.size());
    net.push_back(type == "dense" ? dense(name, src[0], width) : layer(name, type, src));
    readers.push_back(0);
  }
  std::vector<std::string> unread;
  for (std::size_t i = 1; i < net.size(); ++i)
    if (readers[i] == 0) unread.push_back(net[i].name);
  if (unread.size() > 1) net.push_back(layer("all", "add", unread));
  net.push_back(loss(net.back().name));
  return net;
}

// A source whose shapes alone matter: the test has the batch.
class WithoutSamples final : public Source {
 public:
  Status setup(Setup&) override { return {}; }
  Status open(Host&, const std::string&) override { return {}; }
  std::int64_t count(Phase) const override { return 0; }
  Status read(Phase, std::int64_t, std::span<std::byte* const>) const override {
    return Status::unsupported("has no samples");
  }
};

class NetTest : public testing::Test {
 protected:
  struct Asked {
    Phase phase = Phase::train;
    std::int64_t batch = 4;
    std::optional<bool> cyclic = false;
  };
  // The layer "data" is a source with the outputs "data" and "target". Layers stand in the lines of their places in the
  // list, from 1 on.
  std::optional<net::Graph> build(const std::vector<config::Layer>& layers, const Asked& asked) {
    problems_ = {};
    const auto file = std::make_shared<const std::string>("net");
    config::Job job;
    job.layers = layers;
    for (std::size_t i = 0; i < layers.size(); ++i)
      job.layers[i].where = {.file = file, .line = static_cast<std::uint32_t>(i + 1)};
    net::SourceView view{&source_, {}};
    for (const char* name : {"data", "target"}) {
      Shape shape{asked.batch};
      for (const auto dim : sample_) shape.push_back(dim);
      view.outputs.push_back({name, {DType::f32, shape, Format::plain()}});
    }
    const std::map<std::string, net::SourceView> sources{{"data", view}};
    return net::Graph::build({.job = &job,
                              .registry = &registry_,
                              .activity = &activity_,
                              .sources = &sources,
                              .phase = asked.phase,
                              .batch = asked.batch,
                              .cyclic = asked.cyclic},
                             problems_);
  }
  net::Graph graph(const std::vector<config::Layer>& layers) { return graph(layers, {}); }
  net::Graph graph(const std::vector<config::Layer>& layers, const Asked& asked) {
    auto graph = build(layers, asked);
    EXPECT_TRUE(graph) << problems_.status().message();
    return *std::move(graph);
  }

  Shape sample_{3};
  config::Problems problems_; // of the last build
  env::RealHost host_{LogLevel::error};
  plugin::Registry registry_{plugin::entries_of(plugin::settings_of_process({})), host_};
  plugin::Activity activity_;

 private:
  WithoutSamples source_;
};

} // namespace dlhost::test
