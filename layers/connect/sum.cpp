#include <vector>

#include <dlhost/plugin.h>

#include <dlhost/layer.h>

namespace dlhost::plugins {

// Core feeds it the gradients that a feature's readers made, as inputs; it has no gradient itself.
class SumConnector final : public Connector {
 public:
  static constexpr std::string_view name = "sum";
  struct Options {};
  static Schema schema() {
    return SchemaOf<Options>("The sum of the gradients that several readers of a feature make.");
  }
  explicit SumConnector(Options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, most));
    s.output("sum", s.inputs[0].desc);
    s.in_place = true;
    s.has_gradient = false;
    count_ = s.inputs.size();
    return {};
  }

  Status prepare(Prepare& p) override {
    const TensorDesc& desc = p.target();
    MapSpec spec;
    Term sum = spec.expression.input(0);
    for (std::size_t i = 1; i < count_; ++i) sum = sum + spec.expression.input(static_cast<std::uint16_t>(i));
    spec.expression.result(sum);
    spec.in.assign(count_, desc);
    spec.out = {desc};
    for (std::size_t i = 0; i < count_; ++i) p.reads(i, desc);
    p.gives(0, desc);
    DLHOST_ASSIGN(op_, p.op(spec));
    return {};
  }

  void compute_feature(const Pass&, Frame& f) const override {
    void* out = f.output(0);
    op_->execute(*f.stream, f.inputs.first(count_), {&out, 1}, f.scratch, {});
  }

 private:
  static constexpr std::size_t most = 64;
  std::size_t count_ = 0;
  std::unique_ptr<Op> op_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::SumConnector);
