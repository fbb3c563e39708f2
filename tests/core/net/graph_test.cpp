// Nets from their layers: shapes, order, readers, params, and the message for each mistake.
#include "net/graph.h"

#include "nets.h"

namespace dlhost::net {
namespace {

using test::dense, test::layer, test::loss, test::option, test::sharing, test::source;
using testing::ElementsAre, testing::HasSubstr;

class GraphTest : public test::NetTest {
 protected:
  static std::vector<std::string> names(const Graph& graph) {
    std::vector<std::string> names;
    for (const auto& node : graph.nodes()) names.push_back(node.name);
    return names;
  }
  static Shape shape(const Graph& graph, const char* name) { return graph.find(name)->setup.outputs.at(0).desc.shape; }
  // The only problem of a wrong net; its place is the line of the layer.
  std::string problem(const std::vector<config::Layer>& layers, std::uint32_t line, const Asked& asked = {}) {
    EXPECT_FALSE(build(layers, asked));
    EXPECT_EQ(problems_.count(), 1U) << problems_.status().message();
    if (problems_.list().empty()) return {};
    EXPECT_EQ(problems_.list().front().where.line, line) << problems_.status().message();
    return problems_.list().front().message;
  }
};

TEST_F(GraphTest, ShapesFollowFromTheSources) {
  sample_ = {2, 8, 6};
  const auto pool = layer("pool", "pooling", {"data"}, {option("global", true)});
  const auto net = graph({source(), layer("flat", "flatten", {"data"}), pool, dense("fc", "data", 5)});
  EXPECT_EQ(shape(net, "flat"), (Shape{4, 96}));
  EXPECT_EQ(shape(net, "pool"), (Shape{4, 2, 1, 1}));
  EXPECT_EQ(shape(net, "fc"), (Shape{4, 5}));
  EXPECT_EQ(net.find("fc")->params.at(0).spec.shape, (Shape{5, 2, 8, 6}));
  EXPECT_EQ(net.find("missing"), nullptr);
}

TEST_F(GraphTest, SourcesComeBeforeTheirReaders) {
  const auto net = graph({loss("top"), dense("top", "low", 3), dense("low", "data", 4), source()});
  EXPECT_THAT(names(net), ElementsAre("data", "low", "top", "loss"));
  EXPECT_EQ(net.find("top")->inputs.at(0).node, 1U);
  EXPECT_GT(net.find("top")->draw_stream, net.find("loss")->draw_stream); // draws follow the job, not the order
}

TEST_F(GraphTest, OutputsAreReadByNameOrNumber) {
  const auto net = graph({source(), dense("a", "data:1", 2), dense("b", "data:target", 2), dense("c", "data", 2)});
  const auto& readers = net.find("data")->readers;
  ASSERT_EQ(readers.size(), 2U);
  ASSERT_EQ(readers[0].size(), 1U);
  EXPECT_EQ(readers[0][0].node, 3U);
  ASSERT_EQ(readers[1].size(), 2U);
  EXPECT_EQ(readers[1][0].node, 1U);
  EXPECT_EQ(readers[1][1].node, 2U);
}

TEST_F(GraphTest, APhaseHasItsLayersOnly) {
  auto drop = layer("drop", "dropout", {"data"});
  drop.phases = {Phase::train};
  const auto net = graph({source(), drop, dense("fc", "data", 2)}, {.phase = Phase::test});
  EXPECT_THAT(names(net), ElementsAre("data", "fc"));
  EXPECT_EQ(net.find("fc")->draw_stream, 3U); // the same in every phase
  EXPECT_THAT(problem({source(), drop, dense("fc", "drop", 2)}, 0, {.phase = Phase::test}),
              HasSubstr("layer 'fc': its source 'drop' does not exist in this phase"));
}

TEST_F(GraphTest, EachMistakeHasOneMessage) {
  EXPECT_THAT(problem({source(), layer("fc", "dence", {"data"}), loss("fc")}, 2), HasSubstr("dence"));
  EXPECT_THAT(problem({source(), dense("fc", "data", 2), loss("fc")}, 3), HasSubstr("layer 'loss': wants a target"));
  EXPECT_THAT(problem({source(), dense("fc", "data:image", 3), loss("fc")}, 0),
              HasSubstr("layer 'fc': 'data' has no output 'image'; it has: data, target"));
  EXPECT_THAT(problem({source(), layer("act", "relu", {"data", "data"}), loss("act")}, 2), HasSubstr("layer 'act'"));
  EXPECT_THAT(problem({source(), dense("fc", "data", std::int64_t{1} << 47), loss("fc")}, 2),
              HasSubstr("its output 'y' would be 4x140737488355328, more elements than any machine holds"));
  auto misspelt = dense("fc", "data", 3);
  misspelt.params.push_back({.name = "weigth"});
  EXPECT_THAT(problem({source(), misspelt, loss("fc")}, 0), HasSubstr("has no param 'weigth'; did you mean 'weight'"));
}

TEST_F(GraphTest, IndependentMistakesAreAllReported) {
  EXPECT_FALSE(build({source(), dense("a", "data:x", 3), dense("b", "data:y", 3), dense("c", "a", 3)}, {}));
  EXPECT_EQ(problems_.count(), 2U) << problems_.status().message();
}

// Shapes depend on the batch size; the order does not.
TEST_F(GraphTest, WithoutABatchOnlyTheOrderIsChecked) {
  EXPECT_FALSE(build({source(), dense("fc", "data", 2)}, {.batch = 0}));
  EXPECT_TRUE(problems_.empty());
  EXPECT_THAT(problem({source(), layer("a", "relu", {"b"}), layer("b", "relu", {"a"})}, 3, {.batch = 0}),
              HasSubstr("cycle"));
}

TEST_F(GraphTest, CyclesNeedAnAlgorithmForThem) {
  const std::vector<config::Layer> ring{source(), layer("a", "relu", {"c"}), layer("b", "relu", {"a"}),
                                        layer("c", "relu", {"b"})};
  EXPECT_THAT(problem(ring, 3), HasSubstr("the net has a cycle, b -> c -> a -> b, and the job's algorithm takes nets "
                                          "without cycles only"));
  EXPECT_FALSE(build(ring, {.cyclic = std::nullopt})); // the algorithm's mistake is reported elsewhere
  EXPECT_TRUE(problems_.empty());

  const auto net = graph(ring, {.cyclic = true});
  EXPECT_THAT(names(net), ElementsAre("data", "a", "b", "c"));
  EXPECT_EQ(net.find("a")->inputs.at(0).node, 3U);
  const auto& readers = net.find("c")->readers.at(0); // of a layer that comes before it
  ASSERT_EQ(readers.size(), 1U);
  EXPECT_EQ(readers[0].node, 1U);
}

TEST_F(GraphTest, EachCycleIsReported) {
  EXPECT_FALSE(build({source(), layer("a", "relu", {"b"}), layer("b", "relu", {"a"}), layer("c", "relu", {"d"}),
                      layer("d", "relu", {"c"})},
                     {}));
  EXPECT_EQ(problems_.count(), 2U) << problems_.status().message();
}

TEST_F(GraphTest, SettingsOfASharedParamHoldForAllItsLayers) {
  auto one = sharing(dense("one", "data", 3), "w"), two = sharing(dense("two", "one", 3), "w");
  two.params[0].rate_scale = 2;
  two.params[0].frozen = true;
  const auto net = graph({source(), one, two, loss("two")});
  for (const char* name : {"one", "two"}) {
    const ParamUse& use = net.find(name)->params.at(0);
    EXPECT_EQ(use.name, "w");
    EXPECT_EQ(use.rate_scale, 2);
    EXPECT_TRUE(use.frozen);
    EXPECT_FALSE(net.find(name)->needs_gradient);
  }
  one.params[0].rate_scale = 3;
  EXPECT_THAT(problem({source(), one, two, loss("two")}, 0),
              HasSubstr("its param 'weight' is 'w', which is shared, and has rate_scale = 2"));
  EXPECT_THAT(problem({source(), one, sharing(dense("wide", "one", 4), "w")}, 0),
              HasSubstr("is 4x3, but 3x3 in layer 'one'; shared params need one shape"));
}

TEST_F(GraphTest, GradientsAreNeededFromTheFirstLayerThatLearns) {
  auto frozen = dense("frozen", "data", 3);
  frozen.frozen = true;
  const auto net = graph({source(), frozen, layer("low", "relu", {"frozen"}), dense("learns", "low", 3),
                          layer("high", "relu", {"learns"}), loss("high")});
  for (const char* name : {"data", "frozen", "low"}) EXPECT_FALSE(net.find(name)->needs_gradient) << name;
  for (const char* name : {"learns", "high", "loss"}) EXPECT_TRUE(net.find(name)->needs_gradient) << name;
  EXPECT_TRUE(net.find("learns")->live);
  EXPECT_FALSE(net.find("high")->live);
}

} // namespace
} // namespace dlhost::net
