#include <dlhost/layer.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

// The mask is not stored: the gradient draws the same numbers again, on every device.
class Dropout final : public Layer {
 public:
  static constexpr std::string_view name = "dropout";
  struct Options {
    double ratio = 0.5;
  };
  static Schema schema() {
    return SchemaOf<Options>("Drops elements at random in training and scales the rest up; does nothing else.")
        .option("ratio", &Options::ratio, "share that is dropped", from_below(0, 1));
  }
  explicit Dropout(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    drops_ = s.phase == Phase::train && options_.ratio > 0;
    s.is_view = !drops_;
    s.output("y", drops_ ? TensorDesc{s.compute, s.input(0), {}} : s.inputs[0].desc);
    s.in_place = true;
    s.reads = {.inputs = false, .outputs = false};
    return {};
  }

  Status prepare(Prepare& p) override {
    const TensorDesc x = drops_ ? p.input(0).as(p.compute()) : p.input(0);
    p.reads(0, x);
    p.gives(0, x);
    if (!drops_) return {};
    MapSpec spec{.in = {x}, .out = {x}};
    Expression& kept = spec.expression;
    const Term dropped = greater(kept.constant(options_.ratio), kept.uniform());
    kept.result(select(dropped, kept.constant(0), kept.input(0) * (1 / (1 - options_.ratio))));
    DLHOST_ASSIGN(mask_, p.op(spec));
    return {};
  }

  void compute_feature(const Pass& pass, Frame& f) const override { apply(pass, f, f.input(0), f.output(0)); }

  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    if (wants_inputs(wanted) && f.input_gradient(0)) apply(pass, f, f.output_gradient(0), f.input_gradient(0));
  }

 private:
  void apply(const Pass& pass, Frame& f, const void* from, void* to) const {
    if (drops_) mask_->run(*f.stream, {from}, {to}, f.scratch, f.dynamic(pass));
  }

  Options options_;
  bool drops_ = true;
  std::unique_ptr<Op> mask_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Dropout);
