// Proof that the SDK carries late multiplication ("Practical Lessons"): errors travel down before any param gradient is
// made, and what leaves for the updater are the factors.
#include <vector>

#include <dlhost/algorithm.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class LateMultiply final : public Algorithm {
 public:
  static constexpr std::string_view name = "late_multiply";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("All errors first, then all products."); }
  explicit LateMultiply(Options) {}

  void train_one_batch(NetView& net) override {
    for (Node* node : net.nodes()) {
      net.collect(*node);
      net.feature(*node);
    }
    const std::vector<Node*> back(net.nodes().rbegin(), net.nodes().rend());
    for (Node* node : back) net.gradient(*node, Wanted::inputs);
    for (Node* node : net.nodes()) net.update_late(*node);
  }
};

} // namespace

DLHOST_PLUGIN("1.0", LateMultiply);
