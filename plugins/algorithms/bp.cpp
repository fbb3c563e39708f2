#include <vector>

#include <dlhost/algorithm.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

// Each micro-batch goes forward and backward before the next, so that one frame's memory serves all. A param's update
// is sent when the last micro-batch has added to its gradient.
class BackPropagation final : public Algorithm {
 public:
  static constexpr std::string_view name = "bp";
  struct Options {
    std::int64_t micro_batches = 1;
  };
  static Schema schema() {
    return SchemaOf<Options>("Back-propagation: all features, then all gradients in reverse.")
        .option("micro_batches", &Options::micro_batches,
                "equal parts into which a batch is cut, computed one after the other and added up, to save memory",
                between(1, 65536));
  }
  explicit BackPropagation(Options options) : micro_batches_(static_cast<int>(options.micro_batches)) {}

  void train_one_batch(NetView& net) override {
    const std::vector<Node*> back(net.nodes().rbegin(), net.nodes().rend());
    net.frames(micro_batches_, micro_batches_ > 1);
    for (int frame = 0; frame < micro_batches_; ++frame) {
      for (Node* node : net.nodes()) {
        if (frame == 0) net.collect(*node);
        net.feature(*node, frame);
      }
      for (Node* node : back) {
        if (!node->has_gradient()) continue;
        net.gradient(*node, Wanted::both, frame);
        if (frame == micro_batches_ - 1) net.update(*node);
      }
    }
  }

 private:
  int micro_batches_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::BackPropagation);
