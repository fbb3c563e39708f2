// A layer, a source and an updater that work until one chosen call, in which they misbehave. The tests in the folder
// above state the required behaviour of the run.
#include <cstring>
#include <memory>

#include <dlhost/host.h>
#include <dlhost/layer.h>
#include <dlhost/plugin.h>
#include <dlhost/source.h>
#include <dlhost/updater.h>

#include "misdeeds.h"

namespace {
using namespace dlhost;

// The misdeed of the library at its end; noted here because the instance is destroyed by then.
Trouble of_library; // NOLINT

Trouble noted(Trouble trouble) {
  if (trouble.where == "fini" || trouble.where == "exit") of_library = trouble;
  return trouble;
}

struct AtExit {
  ~AtExit() { of_library.at("exit", static_cast<std::uint64_t>(of_library.step)); }
} at_exit;

void fini() noexcept { of_library.at("fini", static_cast<std::uint64_t>(of_library.step)); }

// Before the first instance, only the environment can choose the misdeed: MISBEHAVING=init:exits.
void from_environment(const std::string& phase) {
  const char* const text = std::getenv("MISBEHAVING");
  if (!text || !std::string_view(text).starts_with(phase + ":")) return;
  for (const auto& [name, how] : hows)
    if (std::string_view(text).substr(phase.size() + 1) == name) misbehave(how);
}

const bool loaded = (from_environment("loading"), true); // NOLINT

Status init(Host& host) {
  host.log().write(LogLevel::info, "misbehaving: begins");
  from_environment("init");
  return {};
}

// y = x.
class MisbehavingLayer final : public Layer {
 public:
  static constexpr std::string_view name = "misbehaving";
  using Options = Trouble;
  static Schema schema() {
    from_environment("schema");
    return trouble(SchemaOf<Options>("y = x."));
  }
  explicit MisbehavingLayer(Options options) : trouble_(noted(std::move(options))) {}
  ~MisbehavingLayer() override { trouble_.at("destruction"); }

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

// Eight samples; the misdeed's step is a sample's number. `where` = "batch": declares the batch axis.
class MisbehavingSource final : public Source {
 public:
  static constexpr std::string_view name = "misbehaving_source";
  using Options = Trouble;
  static Schema schema() { return trouble(SchemaOf<Options>("Sample i is {i, 1}, its label i modulo 2.")); }
  explicit MisbehavingSource(Options options) : trouble_(noted(std::move(options))) {}
  ~MisbehavingSource() override { trouble_.at("destruction"); }

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
  std::int64_t count(Phase phase) const override {
    trouble_.at("count");
    return phase == Phase::train ? 8 : 0;
  }
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
  explicit MisbehavingUpdater(Options options) : trouble_(noted(std::move(options))) { trouble_.at("construction"); }
  ~MisbehavingUpdater() override { trouble_.at("destruction"); }

  Rule rule() const override {
    trouble_.at("rule");
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

DLHOST_PLUGIN_WITH("1.0", init, fini, MisbehavingLayer, MisbehavingSource, MisbehavingUpdater);
