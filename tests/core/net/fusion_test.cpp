// What an op could compute in its epilogue, and the reason if it cannot.
#include "net/fusion.h"

#include <set>

#include "nets.h"

namespace dlhost::net {
namespace {

using test::dense, test::layer, test::loss, test::source;
using testing::ElementsAre, testing::IsEmpty;

class FusionTest : public test::NetTest {
 protected:
  // Each fusion as "fc + sum(1) + act": the producer, the sum with the number of its addend, and the pointwise layer.
  std::vector<std::string> fusions(const std::vector<config::Layer>& layers, bool training = true) {
    const auto net = graph(layers);
    std::vector<std::string> found;
    for (const Fusion& fusion : find_fusions(net, training)) {
      std::string text = net.nodes()[fusion.producer].name;
      if (fusion.add) text += concat(" + ", net.nodes()[*fusion.add].name, "(", fusion.addend_input, ")");
      if (fusion.pointwise) text += " + " + net.nodes()[*fusion.pointwise].name;
      found.push_back(text);
    }
    return found;
  }
  std::string why(const std::vector<config::Layer>& layers, const std::string& name, bool training = true) {
    const auto net = graph(layers);
    return why_apart(net, static_cast<std::size_t>(net.find(name) - net.nodes().data()), training);
  }
};

TEST_F(FusionTest, APointwiseLayerIsFusedIntoItsProducer) {
  const std::vector<config::Layer> net{source(), dense("fc", "data", 3), layer("act", "relu", {"fc"}),
                                       layer("more", "relu", {"act"}), loss("more")};
  EXPECT_THAT(fusions(net), ElementsAre("fc + act"));
  EXPECT_EQ(why(net, "more"), "by itself: 'act' has no op that could do it as well");
  EXPECT_EQ(why(net, "fc"), "");
}

TEST_F(FusionTest, AGradientThatNeedsTheInputForbidsIt) {
  std::vector<config::Layer> net{source(), dense("fc", "data", 3), layer("act", "gelu", {"fc"}), loss("act")};
  EXPECT_THAT(fusions(net), IsEmpty());
  EXPECT_EQ(why(net, "act"), "by itself: its gradient needs its input, which fusing would remove");
  EXPECT_THAT(fusions(net, false), ElementsAre("fc + act"));
  net[1].frozen = true; // no gradient passes
  EXPECT_THAT(fusions(net), ElementsAre("fc + act"));
}

TEST_F(FusionTest, AFeatureWithOtherReadersIsMade) {
  const std::vector<config::Layer> net{source(), dense("fc", "data", 3), layer("act", "relu", {"fc"}),
                                       dense("other", "fc", 3), loss("act")};
  EXPECT_THAT(fusions(net), IsEmpty());
  EXPECT_EQ(why(net, "act"), "by itself: 'fc' is read by other layers, too");
}

TEST_F(FusionTest, AFeatureThatItsGradientReadsIsMade) {
  const std::vector<config::Layer> net{source(), dense("fc", "data", 3), layer("share", "softmax", {"fc"}),
                                       layer("act", "relu", {"share"}), loss("act")};
  EXPECT_THAT(fusions(net), IsEmpty());
  EXPECT_EQ(why(net, "act"), "by itself: 'share' needs its own output for its gradient");
  EXPECT_THAT(fusions(net, false), ElementsAre("share + act"));
}

TEST_F(FusionTest, ALayerWithoutAnOpTakesNothing) {
  const std::vector<config::Layer> net{source(), layer("flat", "flatten", {"data"}), layer("act", "relu", {"flat"}),
                                       layer("first", "relu", {"data:target"}), loss("act")};
  EXPECT_THAT(fusions(net), IsEmpty());
  EXPECT_EQ(why(net, "act"), "by itself: 'flat' has no op that could do it as well");
  EXPECT_EQ(why(net, "first"), "by itself: 'data' has no op that could do it as well");
}

// Its addend exists by then.
TEST_F(FusionTest, ASumGoesIntoTheLaterOfItsTwoProducers) {
  for (const bool swapped : {false, true}) {
    const std::vector<std::string> both =
        swapped ? std::vector<std::string>{"b", "a"} : std::vector<std::string>{"a", "b"};
    const std::vector<config::Layer> net{source(),
                                         dense("a", "data", 3),
                                         dense("b", "data", 3),
                                         layer("sum", "add", both),
                                         layer("act", "relu", {"sum"}),
                                         loss("act")};
    EXPECT_THAT(fusions(net), ElementsAre(swapped ? "b + sum(1) + act" : "b + sum(0) + act"));
  }
}

TEST_F(FusionTest, ASumDoesNotGoIntoTheEarlierProducer) {
  const std::vector<config::Layer> net{
      source(),   dense("a", "data", 3), dense("b", "data", 3), layer("sum", "add", {"a", "b"}), dense("other", "b", 3),
      loss("sum")};
  EXPECT_THAT(fusions(net), IsEmpty());
  EXPECT_EQ(why(net, "sum"), "by itself: 'b' is read by other layers, too");
}

TEST_F(FusionTest, ASumOfThreeStaysApart) {
  const std::vector<config::Layer> net{source(),
                                       dense("a", "data", 3),
                                       dense("b", "data", 3),
                                       dense("c", "data", 3),
                                       layer("sum", "add", {"a", "b", "c"}),
                                       loss("sum")};
  EXPECT_THAT(fusions(net), IsEmpty());
  EXPECT_EQ(why(net, "sum"), "by itself: sums of two only go into an op");
}

TEST_F(FusionTest, EachLayerIsInOneFusionOrItsReasonIsKnown) {
  std::mt19937 draws(3);
  int fused = 0, apart = 0;
  for (int n = 0; n < 300; ++n) {
    const auto net = graph(test::drawn_net(draws, {"dense", "dense", "relu", "gelu", "softmax", "add"}, 3));
    for (const bool training : {false, true}) {
      std::set<std::size_t> taken, producers;
      for (const Fusion& fusion : find_fusions(net, training)) {
        EXPECT_TRUE(producers.insert(fusion.producer).second);
        for (const auto& part : {fusion.add, fusion.pointwise}) EXPECT_TRUE(!part || taken.insert(*part).second);
      }
      for (std::size_t i = 0; i < net.nodes().size(); ++i) {
        const Node& node = net.nodes()[i];
        if (!node.setup.pointwise && !node.setup.is_sum) continue;
        ++(taken.contains(i) ? fused : apart);
        EXPECT_TRUE(taken.contains(i) || !why_apart(net, i, training).empty()) << node.name << " of net " << n;
      }
    }
  }
  EXPECT_GT(fused, 200);
  EXPECT_GT(apart, 200);
}

} // namespace
} // namespace dlhost::net
