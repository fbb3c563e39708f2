// dlhost bench nets: the ops of the speed table's nets on the cpu device, layer by layer: the time of each, its share
// of the machine's peak, and the sum for a whole step. Formats follow the net: an op's output format is the next op's
// input format, and a mismatch counts as a reorder.
#include <chrono>
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include <dlhost/parallel.h>

#include "cpu.h"
#include "net_works.h"
#include "op_run.h"

namespace dlhost::bench {
namespace {

struct Options {
  std::vector<std::string> nets;
  std::string dtype = "f32";
  int threads = 2;
  double seconds = 0.3; // for each op
  bool json = false;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The median and the minimum of the runs that fit into the time; at least three runs.
struct Taken {
  double median = 0, least = 0;
};
Taken measure(OpRun& run, double seconds) {
  run.run();
  std::vector<double> times;
  const double start = now();
  while (times.size() < 3 || (now() - start < seconds && times.size() < 1000)) {
    const double before = now();
    run.run();
    times.push_back(now() - before);
  }
  std::ranges::sort(times);
  return {times[times.size() / 2], times.front()};
}

// The machine's peak: the best of a few large matrix products.
double peak(Device& device, DType type, double seconds) {
  GemmSpec spec;
  spec.x = {type, {1024, 1024}, Format::any()};
  spec.w = spec.y = spec.x;
  auto run = OpRun::make(device, spec);
  if (!run) return 0;
  return run->op().operations / measure(*run, seconds).least;
}

class Table {
 public:
  Table(Device& device, const Options& options, DType type) : device_(device), options_(options) {
    peak_ = peak(device, type, options.seconds);
  }

  Status net(const NetWorks& net) {
    total_ = least_ = operations_ = 0;
    if (!options_.json)
      std::printf("\n%s, %s, %d threads, peak %.0f GFLOP/s\n%-28s %-9s %4s %9s %9s %7s %6s %6s  %s\n", net.name.c_str(),
                  options_.dtype.c_str(), options_.threads, peak_ * 1e-9, "layer", "role", "x", "median ms", "least ms",
                  "GF/s", "share", "GB/s", "kernel");
    at_.reset();
    for (const auto& work : net.works) DLHOST_TRY(layer(net, work));
    if (!options_.json)
      std::printf("%-28s %-9s %4s %9.3f %9.3f %7.0f %6.2f\n", "sum", "", "", total_ * 1e3, least_ * 1e3,
                  operations_ / total_ * 1e-9, operations_ / total_ / peak_);
    return {};
  }

 private:
  Status layer(const NetWorks& net, const Work& work) {
    OpSpec spec = work.feature;
    take_format(spec);
    DLHOST_ASSIGN(auto feature, OpRun::make(device_, spec));
    row(net, work, "feature", feature);
    const bool linear = std::holds_alternative<GemmSpec>(spec) || std::holds_alternative<ConvSpec>(spec);
    if (!work.input_gradient && !work.param_gradient) return {};
    DLHOST_TRY(gradients(net, work, spec, feature, linear));
    if (feature.op().out[0].shape.rank() == 4 || linear) at_ = feature.op().out[0];
    return {};
  }

  Status gradients(const NetWorks& net, const Work& work, OpSpec spec, const OpRun& feature, bool linear) {
    const auto prepare = [&](Role role) {
      return std::visit(
          [&](auto one) -> Result<OpRun> {
            if constexpr (requires { one.role; }) {
              one.role = role;
              if constexpr (requires { one.w; }) {
                one.epilogue = {};
                if (role == Role::input_gradient) one.b = {};
                if (role == Role::param_gradient) one.w.dtype = DType::f32;
                one.x = feature.op().in[0];
                one.y = feature.op().out[0];
              }
            }
            return OpRun::make(device_, one);
          },
          spec);
    };
    if (work.input_gradient) {
      DLHOST_ASSIGN(auto run, prepare(Role::input_gradient));
      row(net, work, "input", run);
    }
    if (work.param_gradient && linear) {
      DLHOST_ASSIGN(auto run, prepare(Role::param_gradient));
      row(net, work, "param", run);
    }
    return {};
  }

  // Ops without a preferred format work in the format of the last linear op's output.
  void take_format(OpSpec& spec) const {
    std::visit(
        [&](auto& one) {
          if constexpr (
              requires { one.x, one.y; } && !requires { one.w; }) {
            if (at_ && at_->shape.rank() == one.x.shape.rank()) one.x.format = one.y.format = at_->format;
          }
        },
        spec);
  }

  void row(const NetWorks& net, const Work& work, const char* role, OpRun& run) {
    const auto taken = measure(run, options_.seconds);
    const double operations = run.op().operations;
    total_ += work.times * taken.median;
    least_ += work.times * taken.least;
    if (std::string_view(role) != "feature" || work.param_gradient) operations_ += work.times * operations;
    const bool matrix = work.param_gradient;
    if (options_.json) {
      std::printf("{\"workload\": \"%s\", \"layer\": \"%s\", \"role\": \"%s\", \"times\": %d, \"system\": \"dlhost\", "
                  "\"threads\": %d, \"dtype\": \"%s\", \"seconds_median\": %.9f, \"seconds_min\": %.9f, "
                  "\"share_of_peak\": %.4f, \"gigabytes_per_second\": %.2f, \"kernel\": \"%s\"}\n",
                  net.name.c_str(), work.layer.c_str(), role, work.times, options_.threads, options_.dtype.c_str(),
                  taken.median, taken.least, operations / taken.median / peak_, run.bytes() / taken.median * 1e-9,
                  run.op().kernel.c_str());
      return;
    }
    std::printf("%-28s %-9s %4d %9.3f %9.3f %7.0f %6.2f %6.1f  %s", work.layer.c_str(), role, work.times,
                taken.median * 1e3, taken.least * 1e3, operations / taken.median * 1e-9,
                matrix ? operations / taken.median / peak_ : 0.0, run.bytes() / taken.median * 1e-9,
                run.op().kernel.c_str());
    for (const auto& desc : run.op().in) std::printf(" %s", device_.format_name(desc).c_str());
    std::printf(" >");
    for (const auto& desc : run.op().out) std::printf(" %s", device_.format_name(desc).c_str());
    std::printf("%s%s\n", run.op().remark.empty() ? "" : "; ", run.op().remark.c_str());
  }

  Device& device_;
  const Options& options_;
  double peak_ = 0, total_ = 0, least_ = 0, operations_ = 0;
  std::optional<TensorDesc> at_;
};

int run(const Options& options) {
  const auto type = dtype_named(options.dtype);
  if (!type) {
    std::fprintf(stderr, "nets: no dtype '%s'; f32 and bf16 are known\n", options.dtype.c_str());
    return 1;
  }
  set_parallel_threads(options.threads);
  plugins::cpu::Cpu device({});
  Table table(device, options, *type);
  for (const auto& net : net_works(*type)) {
    const bool wanted = options.nets.empty() || std::ranges::any_of(options.nets, [&](const auto& part) {
                          return net.name.find(part) != std::string::npos;
                        });
    if (!wanted) continue;
    if (const auto status = table.net(net); !status.ok()) {
      std::fprintf(stderr, "nets: %s: %s\n", net.name.c_str(), status.message().c_str());
      return 1;
    }
  }
  return 0;
}

} // namespace
} // namespace dlhost::bench

int main(int argc, char** argv) {
  dlhost::bench::Options options;
  CLI::App app("The ops of the speed table's nets on the cpu device, layer by layer.", "nets");
  app.add_option("NET", options.nets, "part of a net's name; none: all");
  app.add_option("--dtype", options.dtype, "f32 or bf16")->capture_default_str();
  app.add_option("--threads", options.threads, "threads of each op")->capture_default_str()->check(CLI::Range(1, 4096));
  app.add_option("--seconds", options.seconds, "time for each op")->capture_default_str();
  app.add_flag("--json", options.json, "a line of JSON for each op");
  CLI11_PARSE(app, argc, argv);
  return dlhost::bench::run(options);
}
