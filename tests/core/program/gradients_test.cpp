// The sums of gradients, against back-propagation by hand. All numbers are small integers times a power of two, so
// that sums are exact in any order and in any block.
#include "programs.h"

namespace dlhost::program {
namespace {

using test::dense, test::layer, test::loss, test::Made, test::sharing, test::source;
using testing::HasSubstr;

class GradientsTest : public test::ProgramTest {
 protected:
  // The change of each param by one step of rate 1: minus its gradient. For nets of dense layers without bias, relus,
  // sums and views, with half the squared distance as the loss.
  Values changes_by_hand(const Values& params) const {
    const auto& nodes = program_->graph().nodes();
    const auto rows = static_cast<std::size_t>(batch), width = data_.size() / rows;
    std::vector<std::vector<double>> y(nodes.size()), dy(nodes.size(), std::vector<double>(data_.size()));
    Values changes;
    for (const auto& [name, value] : params) changes[name].resize(value.size());
    const auto each_product = [&](const auto& visit) { // the places of y, x and w
      for (std::size_t n = 0; n < rows; ++n)
        for (std::size_t u = 0; u < width; ++u)
          for (std::size_t i = 0; i < width; ++i) visit(n * width + u, n * width + i, u * width + i);
    };
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const net::Node& node = nodes[at];
      y[at].resize(data_.size());
      if (node.source) y[at].assign(data_.begin(), data_.end());
      if (node.type == "dense") {
        const auto& w = params.at(node.params[0].name);
        each_product([&](auto o, auto i, auto p) { y[at][o] += y[node.inputs[0].node][i] * double{w[p]}; });
      }
      for (std::size_t i = 0; i < data_.size(); ++i) {
        if (node.type == "flatten") y[at][i] = y[node.inputs[0].node][i];
        if (node.type == "relu") y[at][i] = std::max(0.0, y[node.inputs[0].node][i]);
        if (node.type == "add")
          for (const auto& edge : node.inputs) y[at][i] += y[edge.node][i];
      }
    }
    for (std::size_t at = nodes.size(); at-- > 0;) {
      const net::Node& node = nodes[at];
      const std::size_t below = node.inputs.empty() ? at : node.inputs[0].node;
      for (std::size_t i = 0; i < data_.size(); ++i) {
        if (node.type == "euclidean_loss") dy[below][i] += (y[below][i] - double{target_[i]}) / batch;
        if (node.type == "flatten" || (node.type == "relu" && y[at][i] > 0)) dy[below][i] += dy[at][i];
        if (node.type == "add")
          for (const auto& edge : node.inputs) dy[edge.node][i] += dy[at][i];
      }
      if (node.type != "dense") continue;
      const auto& w = params.at(node.params[0].name);
      auto& change = changes.at(node.params[0].name);
      each_product([&](auto o, auto i, auto p) {
        dy[below][i] += dy[at][o] * double{w[p]};
        change[p] -= static_cast<float>(dy[at][o] * y[below][i]);
      });
    }
    return changes;
  }
  Values changed(Values params, const Values& changes, float times = 1) const {
    for (auto& [name, value] : params)
      for (std::size_t i = 0; i < value.size(); ++i) value[i] += times * changes.at(name)[i];
    return params;
  }
  // Two steps, of which the second changes the params: the first must leave nothing behind.
  Values after_step(const Values& params) {
    set(params);
    run(0);
    EXPECT_EQ(values(), params);
    run(1);
    return values();
  }
  void expect_as_by_hand(const std::vector<config::Layer>& layers, const Settings& settings, std::mt19937& draws) {
    program(layers, settings);
    draw_batch(draws);
    const Values params = draw_values(draws);
    EXPECT_EQ(after_step(params), changed(params, changes_by_hand(params)));
  }

  std::mt19937 draws_{1};
};

TEST_F(GradientsTest, OfDrawnNetsAreThoseByHand) {
  for (int n = 0; n < 100; ++n) {
    sample_ = {n % 3 == 0 ? 9 : 3}; // 9: the second block is padded
    auto net = test::drawn_net(draws_, {"dense", "dense", "relu", "add", "flatten"}, sample_[0]);
    net.insert(net.begin() + 1, dense("learns", "data", sample_[0])); // below all others that read "data"
    for (std::size_t i = 2; i < net.size() - 1; ++i) {
      for (auto& from : net[i].src)
        if (from.layer == "data") from.layer = "learns";
      if (net[i].type == "dense" && draws_() % 3 == 0) net[i] = sharing(net[i], "shared");
    }
    for (const int parts : {1, 2, 4})
      for (const bool fuse : {true, false}) {
        SCOPED_TRACE(concat("drawn net ", n, " in ", parts, " parts", fuse ? "" : ", not fused"));
        Made algorithm = test::back_propagation(parts);
        expect_as_by_hand(net, {.algorithm = &algorithm, .fuse = fuse}, draws_);
        if (HasFailure()) return;
      }
  }
}

TEST_F(GradientsTest, OfASharedParamAreSummedOverItsLayers) {
  expect_as_by_hand({source(), sharing(dense("one", "data", 3), "w"), sharing(dense("two", "one", 3), "w"),
                     sharing(dense("three", "two", 3), "w"), loss("three")},
                    {}, draws_);
  ASSERT_EQ(store_->params().size(), 1U);
}

TEST_F(GradientsTest, OfAFeatureAreSummedOverItsReaders) {
  expect_as_by_hand({source(), dense("low", "data", 3), dense("a", "low", 3), layer("b", "relu", {"low"}),
                     dense("c", "low", 3), layer("sum", "add", {"a", "b", "c", "low"}), loss("sum")},
                    {}, draws_);
}

TEST_F(GradientsTest, OfAFrozenParamAreNotMade) {
  auto frozen = dense("frozen", "low", 3);
  frozen.frozen = true;
  program({source(), dense("low", "data", 3), frozen, loss("frozen")}, {});
  draw_batch(draws_);
  const Values params = draw_values(draws_);
  Values changes = changes_by_hand(params);
  for (float& change : changes.at("frozen.weight")) change = 0;
  EXPECT_EQ(after_step(params), changed(params, changes));
  for (const auto& op : program_->units()[2].ops) EXPECT_NE(op.role, Role::param_gradient);
  const std::size_t without = program_->footprint().unshared;
  frozen.frozen = false;
  EXPECT_LT(without, program({source(), dense("low", "data", 3), frozen, loss("frozen")}).footprint().unshared);
}

// As contrastive divergence adds them up: each pass in a frame of its own, over the same batch.
TEST_F(GradientsTest, OfSeveralPassesAreSummedWithTheirSigns) {
  const std::vector<config::Layer> net{source(), dense("low", "data", 3), dense("top", "low", 3), loss("top")};
  for (const auto& signs : std::vector<std::vector<float>>{{1}, {-1}, {1, -1}, {-1, -1}, {2, 1, -4}}) {
    Made algorithm([&](NetView& view) {
      view.frames(static_cast<int>(signs.size()), false);
      for (std::size_t pass = 0; pass < signs.size(); ++pass)
        for (Node* node : view.nodes()) view.feature(*node, static_cast<int>(pass));
      for (std::size_t pass = 0; pass < signs.size(); ++pass)
        for (auto node = view.nodes().rbegin(); node != view.nodes().rend(); ++node)
          view.gradient(**node, Wanted::both, static_cast<int>(pass), 0, signs[pass]);
      for (Node* node : view.nodes()) view.update(*node);
    });
    program(net, {.algorithm = &algorithm});
    draw_batch(draws_);
    const Values params = draw_values(draws_);
    float times = 0;
    for (const float sign : signs) times += sign;
    EXPECT_EQ(after_step(params), changed(params, changes_by_hand(params), times)) << testing::PrintToString(signs);
  }
}

// Two passes of one frame: the second overwrites the layer's gradient, so the first is added up before. Between them an
// update changes what the layer reads.
TEST_F(GradientsTest, OfTwoPassesInOneFrameAreSummed) {
  sample_ = {1};
  Made algorithm([](NetView& view) {
    Node &low = *view.nodes()[1], &top = *view.nodes()[2], &loss = *view.nodes()[3];
    for (Node* node : {&low, &top, &loss}) view.feature(*node);
    for (Node* node : {&loss, &top, &low}) view.gradient(*node, Wanted::both);
    view.update(low);
    view.collect(low);
    view.feature(low);
    view.gradient(top, Wanted::params, 0, 1);
    view.update(top);
  });
  program({source(), dense("low", "data", 1), dense("top", "low", 1), loss("top")}, {.algorithm = &algorithm});
  data_ = {2, 2, 2, 2};
  target_ = {5, 5, 5, 5};
  set({{"low.weight", {3}}, {"top.weight", {-1}}});
  run(1); // the first pass: y = -1 * 3 * 2, with a gradient of -11 for each sample
  const float low = 3 - -11 * -1 * 2;
  EXPECT_EQ(values(), (Values{{"low.weight", {low}}, {"top.weight", {-1 - -11 * (3 * 2) - -11 * (low * 2)}}}));
}

TEST_F(GradientsTest, ALateUpdateIsThatOfTheUsualOne) {
  Made late([](NetView& view) {
    view.frames(2, true);
    for (int frame = 0; frame < 2; ++frame) {
      for (Node* node : view.nodes()) view.feature(*node, frame);
      for (auto node = view.nodes().rbegin(); node != view.nodes().rend(); ++node)
        view.gradient(**node, Wanted::inputs, frame);
    }
    for (Node* node : view.nodes()) view.update_late(*node);
  });
  expect_as_by_hand({source(), dense("low", "data", 3), layer("act", "relu", {"low"}), dense("top", "act", 3),
                     layer("sum", "add", {"top", "act"}), loss("sum")},
                    {.algorithm = &late}, draws_);
}

TEST_F(GradientsTest, AProgramThatCannotMakeThemIsRefused) {
  const auto refusal = [this](const std::vector<config::Layer>& layers, Algorithm* algorithm) {
    return build_program(layers, {.algorithm = algorithm}).status().message();
  };
  EXPECT_THAT(refusal({source(), dense("low", "data", 3), dense("idle", "data", 3), loss("low")}, nullptr),
              HasSubstr("layer 'idle' has params that learn, but no loss depends on it"));
  Made twice([](NetView& view) {
    for (Node* node : view.nodes()) view.feature(*node);
    for (int sweep = 0; sweep < 2; ++sweep)
      for (auto node = view.nodes().rbegin(); node != view.nodes().rend(); ++node)
        view.gradient(**node, Wanted::both, 0, static_cast<std::uint32_t>(sweep));
    for (Node* node : view.nodes()) view.update(*node);
  });
  EXPECT_THAT(refusal({source(), dense("low", "data", 3), loss("low")}, &twice),
              HasSubstr("asks twice in one frame for the input gradients of layer 'loss'"));
}

} // namespace
} // namespace dlhost::program
