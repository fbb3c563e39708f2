// Proof that the SDK supports pipelines: two stages, several frames alive at once, forward and backward in turn.
//
//   time      0   1   2   3   4   5  ...
//   stage 0   F0  F1  -   B0  F2  B1
//   stage 1   -   F0  B0  F1  B1  F2
#include <algorithm>
#include <vector>

#include <dlhost/algorithm.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class Pipeline final : public Algorithm {
 public:
  static constexpr std::string_view name = "pipeline_1f1b";
  struct Options {
    std::int64_t micro_batches = 3;
    std::string cut;
  };
  static Schema schema() {
    return SchemaOf<Options>("Two stages, one forward and one backward in turn.")
        .required("cut", &Options::cut, "the first layer of the second stage")
        .option("micro_batches", &Options::micro_batches, "frames", between(1, 64));
  }
  explicit Pipeline(Options options) : options_(std::move(options)) {}

  void train_one_batch(NetView& net) override {
    const int frames = static_cast<int>(options_.micro_batches);
    net.frames(frames, frames > 1);
    const auto nodes = net.nodes();
    const auto cut = std::ranges::find(nodes, options_.cut, [](const Node* node) { return node->name(); });
    const auto bottom = nodes.first(static_cast<std::size_t>(cut - nodes.begin()));
    const auto top = nodes.last(static_cast<std::size_t>(nodes.end() - cut));
    for (Node* node : nodes) net.collect(*node);
    forward(net, bottom, 0);
    for (int frame = 0; frame < frames; ++frame) {
      if (frame + 1 < frames) forward(net, bottom, frame + 1);
      forward(net, top, frame);
      backward(net, top, frame);
      backward(net, bottom, frame);
    }
    std::for_each(nodes.rbegin(), nodes.rend(), [&](Node* node) { net.update(*node); });
  }

 private:
  static void forward(NetView& net, std::span<Node* const> stage, int frame) {
    for (Node* node : stage) net.feature(*node, frame);
  }
  static void backward(NetView& net, std::span<Node* const> stage, int frame) {
    std::for_each(stage.rbegin(), stage.rend(), [&](Node* node) { net.gradient(*node, Wanted::both, frame); });
  }
  Options options_;
};

} // namespace

DLHOST_PLUGIN("1.0", Pipeline);
