// Proof that the SDK supports late multiplication ("Practical Lessons"): errors travel down before any param gradient
// is made, and factors go to the updater. The option `order` runs the same step in other orders, some of them invalid.
#include <string>
#include <vector>

#include <dlhost/algorithm.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class LateMultiply final : public Algorithm {
 public:
  static constexpr std::string_view name = "late_multiply";
  struct Options {
    std::string order = "late";
    std::int64_t micro_batches = 1;
  };
  static Schema schema() {
    return SchemaOf<Options>("All errors first, then all products.")
        .option("order", &Options::order,
                "late; early: products with the errors; behind: a gradient behind its update; twice: two updates; "
                "two_passes: two errors of a frame")
        .option("micro_batches", &Options::micro_batches, "equal parts of the batch, each with a frame of its own");
  }
  explicit LateMultiply(Options options)
      : order_(std::move(options.order)), frames_(static_cast<int>(options.micro_batches)) {}

  void train_one_batch(NetView& net) override {
    net.frames(frames_, frames_ > 1);
    for (int frame = 0; frame < frames_; ++frame)
      for (Node* node : net.nodes()) {
        if (frame == 0) net.collect(*node);
        net.feature(*node, frame);
      }
    const std::vector<Node*> back(net.nodes().rbegin(), net.nodes().rend());
    const Wanted wanted = order_ == "early" ? Wanted::both : Wanted::inputs;
    for (int frame = 0; frame < frames_; ++frame)
      for (Node* node : back)
        for (int pass = 0; pass < (order_ == "two_passes" ? 2 : 1); ++pass) net.gradient(*node, wanted, frame);
    for (Node* node : net.nodes()) {
      net.update_late(*node);
      if (order_ == "twice") net.update_late(*node);
      if (order_ == "behind") net.gradient(*node, Wanted::params);
    }
  }

 private:
  std::string order_;
  int frames_;
};

} // namespace

DLHOST_PLUGIN("1.0", LateMultiply);
