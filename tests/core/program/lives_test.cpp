// The lives of a program's tensors: what a layer reads is unchanged since it was made, and memory is shared otherwise.
#include "programs.h"

namespace dlhost::program {
namespace {

using test::dense, test::layer, test::loss, test::source;

// Computes as the layer that it stands for, and checks that what a gradient reads is what the feature pass left.
class Watched final : public Layer {
 public:
  explicit Watched(const net::Node& node) : node_(node), layer_(*node.layer) {}
  Status setup(Setup& setup) override { return layer_.setup(setup); }
  Status prepare(Prepare& prepare) override { return layer_.prepare(prepare); }
  void compute_feature(const Pass& pass, Frame& frame) const override {
    layer_.compute_feature(pass, frame);
    inputs_ = copies(frame.inputs, node_.input_ports);
    outputs_ = copies(outputs_of(frame), node_.setup.outputs);
  }
  void compute_gradient(const Pass& pass, Frame& frame, Wanted wanted) const override {
    const Reads& reads = node_.setup.reads;
    EXPECT_TRUE(!reads.inputs || copies(frame.inputs, node_.input_ports) == inputs_) << node_.name;
    const bool fused = outputs_.empty(); // the op of another layer makes its output
    EXPECT_TRUE(!reads.outputs || fused || copies(outputs_of(frame), node_.setup.outputs) == outputs_) << node_.name;
    layer_.compute_gradient(pass, frame, wanted);
  }

 private:
  using Copies = std::vector<std::vector<std::byte>>;
  static std::vector<const void*> outputs_of(const Frame& frame) {
    return {frame.outputs.begin(), frame.outputs.end()};
  }
  // As many bytes as the plain tensor has: one in blocks has more.
  static Copies copies(std::span<const void* const> tensors, std::span<const Port> ports) {
    Copies copies;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const auto* bytes = static_cast<const std::byte*>(tensors[i]);
      copies.emplace_back(bytes, bytes + ports[i].desc.plain_bytes());
    }
    return copies;
  }

  const net::Node& node_;
  Layer& layer_;
  mutable Copies inputs_, outputs_;
};

class LivesTest : public test::ProgramTest {
 protected:
  std::size_t arena(const std::vector<config::Layer>& layers, const Settings& settings) {
    return program(layers, settings).footprint().arena;
  }
  // Features of 64 floats: the alignment of so many bytes takes no room.
  std::vector<config::Layer> chain(const char* type, int length) {
    sample_ = {16};
    std::vector<config::Layer> layers{source(), dense("first", "data", 16)};
    for (int i = 0; i < length; ++i) {
      const std::string name = concat("layer", i), below = layers.back().name;
      layers.push_back(type == std::string_view("dense") ? dense(name, below, 16) : layer(name, type, {below}));
    }
    layers.push_back(loss(layers.back().name));
    return layers;
  }
  // Each kept output after a step, by the layer's name. A view of the batch has none.
  Values outputs(const std::vector<std::string>& kept) {
    Values outputs;
    for (const auto& name : kept) {
      const auto& graph = program_->graph();
      const auto node = static_cast<std::size_t>(graph.find(name) - graph.nodes().data());
      if (auto output = program_->read_output(node, 0); output.ok()) outputs[name] = *std::move(output);
    }
    return outputs;
  }

  std::mt19937 draws_{5};
};

TEST_F(LivesTest, WhatAGradientReadsIsWhatTheFeaturePassLeft) {
  for (int n = 0; n < 80; ++n) {
    const auto net = test::drawn_net(draws_, {"dense", "relu", "tanh", "gelu", "softmax", "add", "flatten"}, 3);
    std::vector<std::unique_ptr<Watched>> watched;
    program(net, {.change = [&](net::Graph& graph) {
              for (auto& node : graph.nodes()) {
                if (node.source) continue;
                watched.push_back(std::make_unique<Watched>(node));
                node.layer = watched.back().get();
              }
            }});
    draw_batch(draws_);
    set(draw_values(draws_));
    run(0.5);
    run(0.5);
    program_.reset();
    if (HasFailure()) return;
  }
}

// With all outputs kept no two share memory: the outputs are those of programs in which they do.
TEST_F(LivesTest, WhatALayerReadsIsWhatItsSourceMade) {
  for (int n = 0; n < 25; ++n) {
    sample_ = {n % 2 == 0 ? 9 : 3};
    const auto net = test::drawn_net(draws_, {"dense", "relu", "tanh", "softmax", "add", "flatten"}, sample_[0]);
    std::vector<std::string> all;
    for (const auto& each : net)
      if (each.name != "data") all.push_back(each.name);
    program(net, {.training = false, .fuse = false, .kept = all});
    draw_batch(draws_);
    const Values params = draw_values(draws_);
    set(params);
    run(0);
    for (const auto& expected : outputs(all)) {
      const auto& name = expected.first;
      SCOPED_TRACE(concat("output ", name, " of net ", n));
      program(net, {.training = false, .fuse = n % 4 < 2, .kept = {name}});
      set(params);
      run(0);
      EXPECT_EQ(outputs({name}), Values{expected});
    }
  }
}

TEST_F(LivesTest, AnEvaluationReusesTheMemoryOfFeaturesThatWereRead) {
  const Settings evaluation{.training = false};
  const std::size_t ten = arena(chain("dense", 10), evaluation);
  EXPECT_EQ(arena(chain("dense", 20), evaluation), ten);
  EXPECT_GT(program_->footprint().unshared, 5 * program_->footprint().arena);
}

TEST_F(LivesTest, TrainingKeepsTheFeaturesThatGradientsRead) {
  const std::size_t ten = arena(chain("dense", 10), {}), twenty = arena(chain("dense", 20), {});
  const std::size_t feature = device_->bytes({DType::f32, {batch, 16}, Format::plain()});
  EXPECT_GE(twenty - ten, 10 * feature);
  EXPECT_LT(twenty, program_->footprint().unshared);
}

TEST_F(LivesTest, APointwiseLayerWorksInPlaceIfItsInputIsNotReadAgain) {
  const Settings training{.fuse = false}, evaluation{.training = false, .fuse = false};
  EXPECT_EQ(arena(chain("relu", 9), evaluation), arena(chain("relu", 0), evaluation));
  for (const char* type : {"relu", "gelu"}) // the gradient reads the output or the input
    EXPECT_GT(arena(chain(type, 9), training), arena(chain(type, 1), training)) << type;
}

TEST_F(LivesTest, AViewHasItsInputsMemory) {
  const Settings training{.fuse = false};
  EXPECT_EQ(arena(chain("flatten", 9), training), arena(chain("flatten", 0), training));
  EXPECT_EQ(program_->link_count(), 0U);
}

TEST_F(LivesTest, AKeptOutputIsNotOverwrittenInPlace) {
  const auto kept = [this](int relus) {
    program(chain("relu", relus), {.training = false, .fuse = false, .kept = {"first"}});
    draws_.seed(1);
    draw_batch(draws_);
    set(draw_values(draws_));
    run(0);
    return outputs({"first"});
  };
  EXPECT_EQ(kept(1), kept(0));
}

TEST_F(LivesTest, KeptOutputsShareNoMemory) {
  const auto net = chain("dense", 5);
  const Settings evaluation{.training = false};
  const std::size_t one = arena(net, evaluation);
  Settings keeping = evaluation;
  for (int i = 0; i < 5; ++i) keeping.kept.push_back(concat("layer", i));
  EXPECT_GT(arena(net, keeping), 2 * one);
}

} // namespace
} // namespace dlhost::program
