// Proof that an algorithm may read a param in the step of its update: errors pass through the new weights.
#include <vector>

#include <dlhost/algorithm.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class UpdateFirst final : public Algorithm {
 public:
  static constexpr std::string_view name = "update_first";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Each layer is updated before its error travels on."); }
  explicit UpdateFirst(Options) {}

  void train_one_batch(NetView& net) override {
    for (Node* node : net.nodes()) {
      net.collect(*node);
      net.feature(*node);
    }
    const std::vector<Node*> back(net.nodes().rbegin(), net.nodes().rend());
    for (Node* node : back) {
      if (!node->has_gradient()) continue;
      net.gradient(*node, Wanted::params);
      net.update(*node);
      net.collect(*node);
      net.gradient(*node, Wanted::inputs);
    }
  }
};

} // namespace

DLHOST_PLUGIN("1.0", UpdateFirst);
