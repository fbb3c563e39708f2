// A layer that shares its input's memory and computes nothing, forward or backward: its time is that of the calls.
#include <dlhost/layer.h>
#include <dlhost/plugin.h>

namespace dlhost::bench {

class Nothing final : public Layer {
 public:
  static constexpr std::string_view name = "nothing";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Computes nothing."); }
  explicit Nothing(Options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    s.output("y", s.inputs[0].desc);
    s.in_place = true;
    s.reads = {.inputs = false, .outputs = false};
    return {};
  }
  Status prepare(Prepare& p) override {
    p.reads(0, p.input(0));
    p.gives(0, p.input(0));
    return {};
  }
  void compute_feature(const Pass&, Frame&) const override {}
  void compute_gradient(const Pass&, Frame&, Wanted) const override {}
};

} // namespace dlhost::bench

DLHOST_PLUGIN("1.0", dlhost::bench::Nothing);
