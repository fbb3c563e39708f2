// The visits that an algorithm's run leaves, and the refusal of an order that makes no sense.
#include "program/record.h"

#include <fmt/format.h>

#include "programs.h"

namespace dlhost::program {
namespace {

using test::dense, test::layer, test::loss, test::Made, test::source;
using testing::ElementsAre, testing::HasSubstr;

class RecordTest : public test::NetTest {
 protected:
  // "gradient fc inputs", with the frame, sweep and sign if they are not the usual ones.
  static std::string text(const Visit& visit, const net::Graph& net) {
    constexpr const char* kinds[] = {"collect", "feature", "gradient", "update"};
    constexpr const char* wanted[] = {"", " inputs", " params", " both"};
    std::string text = concat(kinds[static_cast<std::size_t>(visit.kind)], " ", net.nodes()[visit.node].name);
    if (visit.kind == Visit::Kind::gradient) text += wanted[static_cast<std::size_t>(visit.wanted)];
    if (visit.frame != 0) text += concat(" frame ", visit.frame);
    if (visit.sweep != 0) text += concat(" sweep ", visit.sweep);
    if (visit.sign != 1) text += fmt::format(" times {}", visit.sign);
    return text;
  }
  // data -> fc -> act -> top -> loss; `low` learns nothing.
  std::vector<config::Layer> layers() const {
    auto low = dense("low", "data", 3);
    low.frozen = true;
    return {source(), low, dense("fc", "low", 3), layer("act", "relu", {"fc"}), dense("top", "act", 3), loss("top")};
  }
  std::vector<std::string> visits(const std::function<void(NetView&)>& make) {
    const auto net = graph(layers());
    Made algorithm(make);
    const auto made = record(algorithm, "made", net);
    EXPECT_TRUE(made.ok()) << made.status().message();
    std::vector<std::string> visits;
    if (made.ok())
      for (const auto& visit : made->visits) visits.push_back(text(visit, net));
    return visits;
  }
  std::string refusal(const std::function<void(NetView&)>& make) {
    const auto net = graph(layers());
    Made algorithm(make);
    return record(algorithm, "made", net).status().message();
  }
  static Node& at(NetView& net, std::string_view name) {
    return **std::ranges::find(net.nodes(), name, [](const Node* node) { return node->name(); });
  }
};

TEST_F(RecordTest, KeepsTheOrderOfTheVisits) {
  EXPECT_THAT(visits([](NetView& net) {
                net.frames(2, false);
                Node &fc = at(net, "fc"), &top = at(net, "top");
                net.feature(at(net, "loss"), 1, 3);
                net.collect(fc);
                net.gradient(top, Wanted::inputs, 1, 2, -1);
                net.gradient(top, Wanted::params, 0, 0, 0.5F);
                net.update(top);
                net.gradient(fc, Wanted::both);
                net.update(fc);
              }),
              ElementsAre("feature loss frame 1 sweep 3", "collect fc", "gradient top inputs frame 1 sweep 2 times -1",
                          "gradient top params times 0.5", "update top", "gradient fc both", "update fc"));
}

TEST_F(RecordTest, LayersThatLearnNothingHaveNoUpdateAndNoGradientBelowThem) {
  EXPECT_THAT(visits([](NetView& net) {
                for (Node* node : net.nodes()) {
                  net.gradient(*node, Wanted::both);
                  net.update(*node);
                }
              }),
              ElementsAre("gradient fc both", "update fc", "gradient act both", "gradient top both", "update top",
                          "gradient loss both"));
}

TEST_F(RecordTest, ALateUpdateComputesTheProductsOfEachPass) {
  EXPECT_THAT(visits([](NetView& net) {
                net.frames(2, true);
                Node &fc = at(net, "fc"), &top = at(net, "top");
                net.gradient(top, Wanted::inputs, 1);
                net.gradient(top, Wanted::inputs, 0, 0, -1);
                net.update_late(top);
                net.update_late(fc); // no pass: all frames
              }),
              ElementsAre("gradient top inputs frame 1", "gradient top inputs times -1", "gradient top params frame 1",
                          "gradient top params times -1", "update top", "gradient fc params",
                          "gradient fc params frame 1", "update fc"));
  EXPECT_THAT(visits([](NetView& net) {
                for (const char* name : {"top", "fc"}) {
                  net.gradient(at(net, name), Wanted::both);
                  net.update_late(at(net, name));
                }
              }),
              ElementsAre("gradient top both", "update top", "gradient fc both", "update fc"));
}

TEST_F(RecordTest, RefusesAnOrderThatMakesNoSense) {
  const auto learn = [](NetView& net, const char* name) {
    net.gradient(at(net, name), Wanted::both);
    net.update(at(net, name));
  };
  EXPECT_EQ(refusal([&](NetView& net) { net.update(at(net, "fc")); }),
            "algorithm 'made' updates layer 'fc' before its gradient was computed; this is a bug in the plugin");
  EXPECT_THAT(refusal([&](NetView& net) {
                net.gradient(at(net, "fc"), Wanted::inputs);
                net.update(at(net, "fc"));
              }),
              HasSubstr("updates layer 'fc' before its gradient"));
  EXPECT_THAT(refusal([&](NetView& net) {
                learn(net, "fc");
                net.update(at(net, "fc"));
              }),
              HasSubstr("updates layer 'fc' twice"));
  EXPECT_THAT(refusal([&](NetView& net) {
                learn(net, "fc");
                net.gradient(at(net, "fc"), Wanted::params);
              }),
              HasSubstr("computes the param gradient of layer 'fc' after its update"));
  EXPECT_THAT(refusal([&](NetView& net) { net.gradient(at(net, "fc"), Wanted::params); }),
              HasSubstr("computes the param gradient of layer 'fc' and never updates it"));
  EXPECT_THAT(refusal([](NetView& net) { net.feature(at(net, "fc"), 1); }), HasSubstr("visits frame 1 of 1"));
  EXPECT_THAT(refusal([](NetView& net) { net.feature(at(net, "fc"), -1); }), HasSubstr("visits frame -1 of 1"));
  EXPECT_THAT(refusal([](NetView& net) {
                net.gradient(at(net, "fc"), Wanted::inputs);
                net.gradient(at(net, "fc"), Wanted::inputs, 0, 1);
                net.update_late(at(net, "fc"));
              }),
              HasSubstr("update_late for layer 'fc', whose input gradients it computes twice in frame 0"));
}

TEST_F(RecordTest, RefusesWorkThatDependsOnData) {
  auto net = graph(layers());
  Made data_dependent([](NetView&) {}, {.data_dependent = true}), usual([](NetView&) {});
  EXPECT_THAT(record(data_dependent, "made", net).status().message(), HasSubstr("its order depends on the data"));
  net.nodes()[3].setup.data_order = true;
  EXPECT_THAT(record(usual, "made", net).status().message(), HasSubstr("layer 'act' says that its work depends on"));
}

TEST_F(RecordTest, TheViewTellsOfTheNet) {
  visits([](NetView& net) {
    Node &data = at(net, "data"), &low = at(net, "low"), &top = at(net, "top"), &loss = at(net, "loss");
    EXPECT_THAT(loss.sources(), ElementsAre(&top, &data));
    EXPECT_THAT(data.readers(), ElementsAre(&low, &loss));
    EXPECT_TRUE(data.is_source() && !low.is_source() && loss.is_loss() && !top.is_loss());
    EXPECT_TRUE(top.has_params() && !low.has_params() && loss.has_gradient() && !low.has_gradient());
    EXPECT_EQ(top.index(), 4U);
    EXPECT_EQ(top.type(), "dense");
  });
}

TEST_F(RecordTest, AnEvaluationComputesAllFeatures) {
  const auto net = graph({source(), dense("fc", "data", 3), loss("fc")});
  std::vector<std::string> visits;
  for (const auto& visit : record_features(net).visits) visits.push_back(text(visit, net));
  EXPECT_THAT(visits,
              ElementsAre("collect data", "feature data", "collect fc", "feature fc", "collect loss", "feature loss"));
}

} // namespace
} // namespace dlhost::program
