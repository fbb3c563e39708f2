// Programs of drawn and listed nets on the device `ref`, with data that a test sets.
#pragma once

#include <functional>
#include <utility>

#include "../net/nets.h"
#include "param/store/transfer.h"
#include "program/build/build.h"

namespace dlhost::test {

// An algorithm that is one function.
class Made final : public Algorithm {
 public:
  explicit Made(std::function<void(NetView&)> make, Traits traits = {}) : make_(std::move(make)), traits_(traits) {}
  Traits traits() const override { return traits_; }
  void train_one_batch(NetView& net) override { make_(net); }

 private:
  std::function<void(NetView&)> make_;
  Traits traits_;
};

// Back-propagation, with the batch in equal parts.
inline Made back_propagation(int parts = 1) {
  return Made([parts](NetView& net) {
    net.frames(parts, parts > 1);
    for (int frame = 0; frame < parts; ++frame) {
      for (Node* node : net.nodes()) net.feature(*node, frame);
      for (auto node = net.nodes().rbegin(); node != net.nodes().rend(); ++node) {
        net.gradient(**node, Wanted::both, frame);
        if (frame + 1 == parts) net.update(**node);
      }
    }
  });
}

class ProgramTest : public NetTest {
 protected:
  static constexpr std::int64_t batch = 4;

  struct Settings {
    Algorithm* algorithm = nullptr; // null: back-propagation
    bool training = true;
    bool fuse = true;
    std::vector<std::string> kept;
    std::function<void(net::Graph&)> change; // of the net before it is built into a program
  };
  // Builds a program with a store of its own.
  Result<std::unique_ptr<program::Program>> build_program(const std::vector<config::Layer>& layers,
                                                          const Settings& settings) {
    program_.reset();
    store_.emplace(*device_, *stream_);
    Made usual = back_propagation();
    Algorithm& algorithm = settings.algorithm ? *settings.algorithm : usual;
    auto net = std::make_unique<net::Graph>(graph(layers, {.batch = batch}));
    DLHOST_ASSIGN(auto record, program::record(algorithm, "made", *net));
    if (record.cut) net = std::make_unique<net::Graph>(graph(layers, {.batch = batch / record.frames}));
    if (!settings.training) record = program::record_features(*net);
    if (settings.change) settings.change(*net);
    auto parts = net::whole_parts(*net);
    return program::build({.graph = std::move(net),
                           .part = {.nodes = std::move(parts)},
                           .record = std::move(record),
                           .device = device_.get(),
                           .registry = &registry_,
                           .device_type = "ref",
                           .stream = stream_.get(),
                           .store = &*store_,
                           .activity = &activity_,
                           .training = settings.training,
                           .fuse = settings.fuse,
                           .updater = settings.training ? updater_.get() : nullptr,
                           .kept = settings.kept});
  }
  program::Program& program(const std::vector<config::Layer>& layers) { return program(layers, {}); }
  program::Program& program(const std::vector<config::Layer>& layers, const Settings& settings) {
    auto made = build_program(layers, settings);
    EXPECT_TRUE(made.ok()) << made.status().message();
    program_ = *std::move(made);
    return *program_;
  }

  // Makes a step of plain SGD with the rows of `data_` and `target_`.
  void run(double rate) {
    const auto& nodes = program_->graph().nodes();
    const auto at = static_cast<std::size_t>(program_->graph().find("data") - nodes.data());
    const program::BatchView view{
        .sources = {{.node = at, .outputs = {data_.data(), target_.data()}}}, .samples = {}, .valid = batch};
    const Status status = program_->run(view, {.step = 1, .global_batch = batch, .rate = rate});
    EXPECT_TRUE(status.ok()) << status.message();
  }
  // Small integers, so that sums are exact in any order.
  void draw_batch(std::mt19937& draws) {
    for (auto* rows : {&data_, &target_}) {
      rows->resize(static_cast<std::size_t>(batch * sample_.count()));
      for (float& value : *rows) value = static_cast<float>(static_cast<int>(draws() % 5) - 2);
    }
  }

  using Values = std::map<std::string, std::vector<float>>; // of params, by name
  // One element of each row is 1 or -1, the others are 0: values keep their size from layer to layer.
  Values draw_values(std::mt19937& draws) {
    Values values;
    for (const auto& param : store_->params()) {
      const Shape& shape = param->master.shape;
      auto& value = values[param->declared.name];
      value.resize(static_cast<std::size_t>(shape.count()));
      const auto row = static_cast<std::size_t>(shape.past(1));
      for (std::size_t begin = 0; begin < value.size(); begin += row)
        value[begin + draws() % row] = draws() % 2 == 0 ? 1 : -1;
    }
    return values;
  }
  void set(const Values& values) {
    for (const auto& param : store_->params()) EXPECT_TRUE(store_->set(*param, values.at(param->declared.name)).ok());
  }
  Values values() {
    Values values;
    for (const auto& param : store_->params())
      values[param->declared.name] = *param::download(*device_, *stream_, param->master, param->value.data());
    return values;
  }

  std::unique_ptr<Device> device_ = *registry_.create<Device>("ref", {});
  std::unique_ptr<Stream> stream_ = *device_->stream();
  std::unique_ptr<Updater> updater_ = *registry_.create<Updater>("sgd", {});
  std::optional<param::Store> store_;
  std::unique_ptr<program::Program> program_;
  std::vector<float> data_, target_;
};

} // namespace dlhost::test
