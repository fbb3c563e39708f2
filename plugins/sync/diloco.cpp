// DiLoCo (Douillard et al. 2023): groups make many steps alone; then the common value moves by the mean of their
// differences, with Nesterov's momentum.
#include <dlhost/plugin.h>

#include "all_to_all.h"

namespace dlhost::plugins {
namespace {

struct Outer {
  std::int64_t every = 100;
  double rate = 0.7, momentum = 0.9;
};

class Nesterov final : public Updater {
 public:
  explicit Nesterov(const Outer& options) : options_(options) {}

  Rule rule() const override {
    Rule rule{.history = {{"velocity"}}, .apply = {}, .own_scalars = 0, .partials = {}};
    Expression& x = rule.apply;
    const Term value = x.input(0), learned = x.scalar(gradient_scale) * x.input(1);
    const Term velocity = options_.momentum * x.input(2) + learned;
    x.result(value + options_.rate * (learned + options_.momentum * velocity));
    x.result(velocity);
    return rule;
  }

 private:
  Outer options_;
};

} // namespace

class Diloco final : public Sync {
 public:
  static constexpr std::string_view name = "diloco";
  using Options = Outer;
  static Schema schema() {
    return SchemaOf<Options>("DiLoCo: groups make many steps by themselves, then the common value moves by the mean of "
                             "their changes, with Nesterov's momentum.")
        .option("every", &Options::every, "updates of a slice from one exchange to the next", at_least(1))
        .option("rate", &Options::rate, "of the outer step; 1 without momentum is plain averaging", above(0))
        .option("momentum", &Options::momentum, "of the outer step", from_below(0, 1));
  }
  explicit Diloco(const Options& options) : options_(options), outer_(options) {}

  Traits traits() const override { return {.averages = true, .every = static_cast<std::uint32_t>(options_.every)}; }
  std::unique_ptr<Exchange> join(const Ranks& ranks, std::int64_t elements) const override {
    return std::make_unique<ToAll>(ranks, elements);
  }
  const Updater* outer() const override { return &outer_; }

 private:
  Options options_;
  Nesterov outer_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Diloco);
