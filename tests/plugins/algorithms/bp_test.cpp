#include <gmock/gmock.h>

#include <dlhost/algorithm.h>

#include "../../plugin_host.h"

namespace dlhost::test {
namespace {

class FakeNode : public Node {
 public:
  FakeNode(std::string name, std::size_t index, bool has_gradient)
      : name_(std::move(name)), index_(index), has_gradient_(has_gradient) {}
  std::string_view name() const override { return name_; }
  std::string_view type() const override { return "fake"; }
  std::size_t index() const override { return index_; }
  std::span<Node* const> sources() const override { return {}; }
  std::span<Node* const> readers() const override { return {}; }
  bool has_params() const override { return has_gradient_; }
  bool is_source() const override { return index_ == 0; }
  bool is_loss() const override { return false; }
  bool has_gradient() const override { return has_gradient_; }

 private:
  std::string name_;
  std::size_t index_;
  bool has_gradient_;
};

// Records the algorithm's calls.
class Recording : public NetView {
 public:
  std::span<Node* const> nodes() const override { return nodes_; }
  void frames(int count, bool cut) override { say("frames", concat(count, cut ? " cut" : "")); }
  void collect(Node& node) override { say("collect", node.name()); }
  void feature(Node& node, int frame, std::uint32_t) override { say("feature", concat(node.name(), frame)); }
  void gradient(Node& node, Wanted wanted, int frame, std::uint32_t, float sign) override {
    EXPECT_EQ(wanted, Wanted::both);
    EXPECT_EQ(sign, 1);
    say("gradient", concat(node.name(), frame));
  }
  void update(Node& node) override { say("update", node.name()); }
  void update_late(Node& node) override { say("update_late", node.name()); }

  std::vector<std::string> said;

 private:
  void say(std::string_view what, std::string_view of) { said.push_back(concat(what, " ", of)); }

  FakeNode data_{"data", 0, false}, fc_{"fc", 1, true}, loss_{"loss", 2, true};
  std::vector<Node*> nodes_{&data_, &fc_, &loss_};
};

TEST(BackPropagation, GoesForthAndBackAndUpdatesAsSoonAsItCan) {
  PluginHost host;
  Recording net;
  make<Algorithm>(host, "bp")->train_one_batch(net);
  EXPECT_THAT(net.said, testing::ElementsAre("frames 1", "collect data", "feature data0", "collect fc", "feature fc0",
                                             "collect loss", "feature loss0", "gradient loss0", "update loss",
                                             "gradient fc0", "update fc"));
}

TEST(BackPropagation, MicroBatchesAddUpBeforeTheUpdate) {
  PluginHost host;
  Recording net;
  make<Algorithm>(host, "bp", {{"micro_batches", value(2)}})->train_one_batch(net);
  EXPECT_THAT(net.said, testing::ElementsAre("frames 2 cut", "collect data", "feature data0", "collect fc",
                                             "feature fc0", "collect loss", "feature loss0", "gradient loss0",
                                             "gradient fc0", "feature data1", "feature fc1", "feature loss1",
                                             "gradient loss1", "update loss", "gradient fc1", "update fc"));
}

} // namespace
} // namespace dlhost::test
