#include <dlhost/plugin.h>

#include <dlhost/layer.h>

namespace dlhost::plugins {

class FormatConnector final : public Connector {
 public:
  static constexpr std::string_view name = "format";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("The same feature in another memory format or element type."); }
  explicit FormatConnector(Options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    s.output("y", s.input(0));
    s.reads = {.inputs = false, .outputs = false};
    return {};
  }

  Status prepare(Prepare& p) override {
    const TensorDesc src = p.input(0);
    const TensorDesc dst = p.target();
    p.gives(0, dst);
    DLHOST_ASSIGN(feature_, p.op(ReorderSpec{src, dst}));
    if (!p.training() || !p.wants_input_gradient(0)) return {};
    DLHOST_ASSIGN(gradient_, p.op(ReorderSpec{dst, src}, Role::input_gradient));
    return {};
  }

  void compute_feature(const Pass&, Frame& f) const override {
    feature_->run(*f.stream, {f.input(0)}, {f.output(0)}, f.scratch);
  }

  void compute_gradient(const Pass&, Frame& f, Wanted wanted) const override {
    if (!gradient_ || !wants_inputs(wanted)) return;
    gradient_->run(*f.stream, {f.output_gradient(0)}, {f.input_gradient(0)}, f.scratch);
  }

 private:
  std::unique_ptr<Op> feature_, gradient_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::FormatConnector);
