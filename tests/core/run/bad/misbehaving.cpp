// A layer, a source and an updater that do their work until one chosen call, in which they throw, crash or hang. The
// test beside this folder says what a run must then do.
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <unistd.h>

#include <dlhost/layer.h>
#include <dlhost/plugin.h>
#include <dlhost/source.h>
#include <dlhost/updater.h>

namespace {
using namespace dlhost;

enum class How { well, throws, crashes, hangs };

struct Trouble {
  How how = How::well;
  std::string where;
  std::int64_t step = 0;

  void at(std::string_view here, std::uint64_t now = 0) const {
    if (here != where || now != static_cast<std::uint64_t>(step)) return;
    volatile int* const nothing = nullptr;
    switch (how) {
    case How::well: return;
    case How::throws: throw std::runtime_error("out of ideas");
    case How::crashes: *nothing = 1; return;
    case How::hangs:
      std::fputs("misbehaving: hangs now\n", stderr); // tests wait for it
      for (;;) pause();
    }
  }
};

template <class Options> Schema trouble(SchemaOf<Options> schema) {
  return schema
      .choice("how", &Options::how,
              {{"well", How::well}, {"throws", How::throws}, {"crashes", How::crashes}, {"hangs", How::hangs}}, "how")
      .option("where", &Options::where, "in which call")
      .option("step", &Options::step, "in which step");
}

// y = x.
class MisbehavingLayer final : public Layer {
 public:
  static constexpr std::string_view name = "misbehaving";
  using Options = Trouble;
  static Schema schema() { return trouble(SchemaOf<Options>("y = x.")); }
  explicit MisbehavingLayer(Options options) : trouble_(std::move(options)) {}

  Status setup(Setup& s) override {
    trouble_.at("setup");
    DLHOST_TRY(expect_inputs(s, 1, 1));
    s.output("y", s.input(0));
    s.data_order = trouble_.where == "data_order";
    return {};
  }
  Status prepare(Prepare& p) override {
    trouble_.at("prepare");
    MapSpec copy{.expression = {}, .in = {p.output(0)}, .out = {p.output(0)}};
    copy.expression.result(copy.expression.input(0));
    DLHOST_ASSIGN(copy_, p.op(copy));
    p.reads(0, p.output(0));
    return {};
  }
  void compute_feature(const Pass& pass, Frame& f) const override {
    trouble_.at("compute_feature", pass.step);
    if (trouble_.where == "input" && *static_cast<const volatile float*>(f.input(0)) == 0) return;
    copy_->run(*f.stream, {f.input(0)}, {f.output(0)}, f.scratch);
  }
  void compute_gradient(const Pass& pass, Frame& f, Wanted) const override {
    trouble_.at("compute_gradient", pass.step);
    if (f.input_gradient(0)) copy_->run(*f.stream, {f.output_gradient(0)}, {f.input_gradient(0)}, f.scratch);
  }

 private:
  Trouble trouble_;
  std::unique_ptr<Op> copy_;
};

// Eight samples; the step of the trouble is the number of the sample. `where` = "batch": it declares the batch axis.
class MisbehavingSource final : public Source {
 public:
  static constexpr std::string_view name = "misbehaving_source";
  using Options = Trouble;
  static Schema schema() { return trouble(SchemaOf<Options>("Sample i is {i, 1}, its label i modulo 2.")); }
  explicit MisbehavingSource(Options options) : trouble_(std::move(options)) {}

  Status open(Host&, const std::string& folder) override {
    trouble_.at("open");
    if (folder.empty()) return Status::invalid("relative paths have no folder to start from");
    return {};
  }
  Status setup(Setup& s) override {
    const bool batched = trouble_.where == "batch";
    s.output("data", TensorDesc{DType::f32, batched ? Shape{s.batch, 2} : Shape{2}, {}});
    s.output("label", TensorDesc{DType::i32, {}, {}});
    s.has_gradient = false;
    return {};
  }
  std::int64_t count(Phase phase) const override { return phase == Phase::train ? 8 : 0; }
  Status read(Phase, std::int64_t index, std::span<std::byte* const> outputs) const override {
    trouble_.at("read", static_cast<std::uint64_t>(index));
    const float data[] = {static_cast<float>(index), 1};
    const auto label = static_cast<std::int32_t>(index % 2);
    std::memcpy(outputs[0], data, sizeof data);
    std::memcpy(outputs[1], &label, sizeof label);
    return {};
  }

 private:
  Trouble trouble_;
};

// value - rate * gradient; its steps are counted from 1.
class MisbehavingUpdater final : public Updater {
 public:
  static constexpr std::string_view name = "misbehaving";
  using Options = Trouble;
  static Schema schema() { return trouble(SchemaOf<Options>("Plain descent.")); }
  explicit MisbehavingUpdater(Options options) : trouble_(std::move(options)) { trouble_.at("construction"); }

  Rule rule() const override {
    Rule rule;
    Expression& e = rule.apply;
    e.result(e.input(0) - e.scalar(rate) * e.input(1));
    return rule;
  }
  void scalars(const When& when, std::span<const double>, std::span<float>) const override {
    trouble_.at("update", when.update);
  }

 private:
  Trouble trouble_;
};

} // namespace

DLHOST_PLUGIN("1.0", MisbehavingLayer, MisbehavingSource, MisbehavingUpdater);
