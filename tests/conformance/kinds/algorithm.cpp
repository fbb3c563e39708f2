// Algorithms, on a view that records their visits: visits have a computable order, every live param is updated once,
// and two runs are equal.
#include <algorithm>
#include <map>

#include <dlhost/algorithm.h>

#include "kinds/kinds.h"

namespace dlhost::conform {

namespace {

struct FakeNode final : Node {
  std::string node_name, node_type;
  std::size_t number = 0;
  std::vector<Node*> source_list, reader_list;
  bool params = false, source = false, loss = false;

  std::string_view name() const override { return node_name; }
  std::string_view type() const override { return node_type; }
  std::size_t index() const override { return number; }
  std::span<Node* const> sources() const override { return source_list; }
  std::span<Node* const> readers() const override { return reader_list; }
  bool has_params() const override { return params; }
  bool is_source() const override { return source; }
  bool is_loss() const override { return loss; }
  bool has_gradient() const override { return !source; }
};

// data -> dense -> relu -> dense -> loss, with the labels.
class FakeNet final : public NetView {
 public:
  explicit FakeNet(bool with_loss) {
    add("data", "csv", {}).source = true;
    add("hidden", "dense", {0}).params = true;
    add("act", "relu", {1});
    add("out", "dense", {2}).params = true;
    if (with_loss) add("loss", "softmax_loss", {3, 0}).loss = true;
  }

  std::span<Node* const> nodes() const override { return order_; }
  void frames(int count, bool) override {
    EXPECT_TRUE(visits.empty()) << "frames() comes before any visit";
    EXPECT_GE(count, 1);
    frames_ = count;
  }
  void collect(Node& node) override {
    collected_[node.index()] = true;
    note("collect", node, 0, 0);
  }
  void feature(Node& node, int frame, std::uint32_t sweep) override {
    check_frame(frame);
    EXPECT_TRUE(!node.has_params() || collected_[node.index()])
        << node.name() << " computes before its params are there";
    for (const Node* source : node.sources())
      EXPECT_TRUE(source->is_source() || source->index() > node.index() ||
                  (features_.contains({source->index(), frame})))
          << node.name() << " reads " << source->name() << " before that has a feature";
    ++features_[{node.index(), frame}];
    note("feature", node, frame, sweep);
  }
  void gradient(Node& node, Wanted wanted, int frame, std::uint32_t sweep, float sign) override {
    check_frame(frame);
    EXPECT_GT((features_[{node.index(), frame}]), 0) << node.name() << " has a gradient before its feature";
    EXPECT_TRUE(!wants_params(wanted) || updated_[node.index()] == 0)
        << node.name() << " has a gradient of its params behind its update";
    EXPECT_TRUE(sign == 1 || sign == -1 || (sign == sign && sign != 0));
    ++(wants_params(wanted) ? gradients_[node.index()] : errors_[{node.index(), frame}]);
    note("gradient", node, frame, sweep);
  }
  void update(Node& node) override {
    EXPECT_GT(gradients_[node.index()], 0) << node.name() << " is updated without a gradient";
    ++updated_[node.index()];
    note("update", node, 0, 0);
  }
  void update_late(Node& node) override {
    for (int frame = 0; gradients_[node.index()] == 0 && frame < frames_; ++frame)
      EXPECT_LE((errors_[{node.index(), frame}]), 1)
          << node.name() << " is updated late, behind several passes that asked for no param gradient in frame "
          << frame;
    ++updated_[node.index()];
    note("update_late", node, 0, 0);
  }

  void check_end() {
    for (const Node* node : order_)
      EXPECT_TRUE(!node->has_params() || updated_[node->index()] == 1)
          << node->name() << " is updated " << updated_[node->index()] << " times";
  }

  std::vector<std::string> visits;

 private:
  FakeNode& add(std::string name, std::string type, const std::vector<std::size_t>& sources) {
    auto& node = nodes_.emplace_back(std::make_unique<FakeNode>());
    node->node_name = std::move(name);
    node->node_type = std::move(type);
    node->number = nodes_.size() - 1;
    for (const auto source : sources) {
      node->source_list.push_back(nodes_[source].get());
      nodes_[source]->reader_list.push_back(node.get());
    }
    order_.push_back(node.get());
    return *node;
  }
  void check_frame(int frame) const {
    EXPECT_GE(frame, 0);
    EXPECT_LT(frame, frames_) << "more frames than it asked for";
  }
  void note(std::string_view what, const Node& node, int frame, std::uint32_t sweep) {
    visits.push_back(concat(what, " ", node.name(), " ", frame, " ", sweep));
    ASSERT_LT(visits.size(), 10000U) << "does not end";
  }

  std::vector<std::unique_ptr<FakeNode>> nodes_;
  std::vector<Node*> order_;
  int frames_ = 1;
  std::map<std::size_t, bool> collected_;
  std::map<std::pair<std::size_t, int>, int> features_, errors_; // of a node in a frame
  std::map<std::size_t, int> gradients_, updated_;
};

void visits_can_be_computed(const Context& context, const std::string& name) {
  const auto algorithm = usable<Algorithm>(context, name);
  FakeNet net(algorithm->traits().needs_loss), again(algorithm->traits().needs_loss);
  algorithm->train_one_batch(net);
  net.check_end();
  EXPECT_FALSE(net.visits.empty());
  if (algorithm->traits().data_dependent) return;
  algorithm->train_one_batch(again);
  EXPECT_EQ(net.visits, again.visits) << "core records it once, but it does not do the same each time";
}

} // namespace

void register_algorithm_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::algorithm, name, "visits_can_be_computed", visits_can_be_computed);
}

} // namespace dlhost::conform
