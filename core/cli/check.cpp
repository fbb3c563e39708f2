// dlhost check: the resolved net, before anything is trained.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/job_file.h"
#include "run/session.h"

namespace dlhost::cli {
namespace {

struct CheckOptions {
  std::string job;
  std::vector<std::string> set;
  bool verbose = false, json = false;
};

std::string scaled(double value, const char* unit) {
  const char* prefixes[] = {"", "k", "M", "G", "T"};
  std::size_t i = 0;
  for (; value >= 1000 && i < 4; ++i) value /= 1000;
  return i == 0 ? fmt::format("{:.0f} {}", value, unit) : fmt::format("{:.1f} {}{}", value, prefixes[i], unit);
}

std::int64_t elements_of(const net::Node& node) {
  std::int64_t sum = 0;
  for (const auto& param : node.params) sum += param.spec.shape.count();
  return sum;
}

double operations_of(const program::Unit& unit) {
  double sum = 0;
  for (const auto& op : unit.ops) sum += op.operations;
  return sum;
}

void print_kernels(const program::Unit& unit) {
  for (const auto& op : unit.ops)
    fmt::print("      {:<20} {:<10} {}{}{}\n", plan::word(op.role), op.spec, op.kernel, op.remark.empty() ? "" : "; ",
               op.remark);
  if (!unit.fusion_remark.empty()) fmt::print("      {}\n", unit.fusion_remark);
}

void print_net(program::Program& program, run::Session& session, bool verbose) {
  fmt::print("{:<20} {:<18} {:<22} {:>12} {:>14}  {}\n", "layer", "type", "output", "params", "operations", "kernel");
  for (const auto& unit : program.units()) {
    const auto& node = *unit.described;
    const std::string kernel = unit.feature_fused ? "in the op before it"
                               : unit.view        ? "a view"
                               : unit.ops.empty() ? (node.source ? "input" : "host")
                                                  : unit.ops[0].kernel;
    fmt::print("{:<20} {:<18} {:<22} {:>12} {:>14}  {}\n", node.name, node.type,
               node.setup.outputs.empty() ? "" : to_string(node.setup.outputs[0].desc.shape),
               node.params.empty() ? "" : std::to_string(elements_of(node)),
               operations_of(unit) > 0 ? scaled(operations_of(unit), "") : "", kernel);
    if (verbose) print_kernels(unit);
  }
  fmt::print("\n{} params, {} operations a step; {} of activations and gradients ({} were nothing shared), {} of "
             "params and state\n",
             session.store().elements(), scaled(program.operations(), ""),
             scaled(static_cast<double>(program.arena_bytes()), "B"),
             scaled(static_cast<double>(program.unshared_bytes()), "B"),
             scaled(static_cast<double>(session.store().bytes()), "B"));
  if (program.link_count() > 0)
    fmt::print("{} connectors between layers that disagree on form\n", program.link_count());
}

void print_json(program::Program& program, run::Session& session) {
  nlohmann::json layers = nlohmann::json::array();
  for (const auto& unit : program.units()) {
    nlohmann::json ops = nlohmann::json::array();
    for (const auto& op : unit.ops)
      ops.push_back({{"role", plan::word(op.role)},
                     {"op", op.spec},
                     {"kernel", op.kernel},
                     {"formats", op.formats},
                     {"remark", op.remark},
                     {"operations", op.operations}});
    nlohmann::json outputs = nlohmann::json::array();
    for (const auto& port : unit.described->setup.outputs)
      outputs.push_back(
          {{"name", port.name}, {"shape", std::vector<std::int64_t>(port.desc.shape.begin(), port.desc.shape.end())}});
    layers.push_back({{"name", unit.described->name},
                      {"type", unit.described->type},
                      {"outputs", outputs},
                      {"params", elements_of(*unit.described)},
                      {"ops", ops},
                      {"fused", unit.feature_fused},
                      {"remark", unit.fusion_remark}});
  }
  const nlohmann::json net = {{"layers", layers},
                              {"params", session.store().elements()},
                              {"operations", program.operations()},
                              {"plan_hash", plan::hash(program.plan())},
                              {"arena_bytes", program.arena_bytes()},
                              {"unshared_bytes", program.unshared_bytes()},
                              {"param_bytes", session.store().bytes()},
                              {"connectors", program.link_count()}};
  fmt::print("{}\n", net.dump(2));
}

Status check_job(Context& context, const CheckOptions& options) {
  auto& registry = context.registry();
  DLHOST_ASSIGN(const auto job, load_job(context, options.job, options.set));
  DLHOST_ASSIGN(auto session, run::Session::open(context.host, registry, job));
  DLHOST_ASSIGN(auto* program, session->trainer());
  if (options.json)
    print_json(*program, *session);
  else
    print_net(*program, *session, options.verbose);
  return {};
}

} // namespace

void add_check(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("check", "find what is wrong with a job, or show its net: shapes, params, memory, kernels");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("job", options->job, "the job file")->required()->type_name("JOB.toml");
  command->add_option("--set", options->set, "change one key of the job; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("-v,--verbose", options->verbose, "every op with its kernel, and why not a faster one");
  command->add_flag("--json", options->json, "print JSON, for programs");
  command->footer("Nothing is trained. What is wrong is told all at once, each with file, line and column.\n\n"
                  "Examples:\n"
                  "  dlhost check job.toml\n"
                  "  dlhost check -v job.toml");
  command->callback([&context, options] {
    if (Status status = check_job(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
