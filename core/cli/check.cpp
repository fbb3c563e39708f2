// dlhost check: prints the resolved net without training.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/check_plan.h"
#include "cli/job_file.h"
#include "env/json_text.h"
#include "env/printable.h"
#include "env/process/machine.h"
#include "record/quantity.h"
#include "run/input/samples_found.h"
#include "run/memory/worker_layout.h"
#include "run/session/session.h"

namespace dlhost::cli {
namespace {

struct CheckOptions {
  std::string job;
  std::vector<std::string> set;
  bool verbose = false, json = false, plan = false;
};

std::string scaled(double value) {
  const char* prefixes[] = {"", " k", " M", " G", " T"};
  std::size_t i = 0;
  for (; value >= 1000 && i < 4; ++i) value /= 1000;
  return i == 0 ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}{}", value, prefixes[i]);
}

std::int64_t elements_of(const net::Node& node) {
  std::int64_t sum = 0;
  for (const auto& param : node.params) sum += param.spec.shape.count();
  return sum;
}

// Whether the layer runs this op itself: a fused op runs in another layer's.
bool runs(const program::Unit& unit, const program::OpReport& op) {
  return op.role == Role::feature ? !unit.feature_fused : !unit.gradient_fused;
}

double operations_of(const program::Unit& unit) {
  double sum = 0;
  for (const auto& op : unit.ops) sum += op.operations;
  return sum;
}

// The memory of a layer: params with the updater's histories, and its part of the arena at the fullest step.
program::Footprint::Part memory_of(const program::Program& program, const program::Unit& unit) {
  const auto& parts = program.footprint().parts;
  const auto found = std::ranges::find(parts, unit.described->name, &program::Footprint::Part::layer);
  return found == parts.end() ? program::Footprint::Part() : *found;
}

std::string output_of(const program::Unit& unit) {
  if (unit.part.outputs.empty()) return "";
  if (unit.described->setup.is_loss) return "the loss";
  return unit.described->setup.metrics.empty() ? to_string(unit.part.outputs[0].shape) : "a metric";
}

std::string kernel_of(const program::Unit& unit) {
  if (unit.feature_fused) return unit.fusion_remark;
  if (unit.view) return "none: a view of its source";
  if (unit.ops.empty()) return unit.described->source ? "input" : "on the host";
  return unit.ops[0].kernel;
}

void print_ops(const program::Unit& unit) {
  for (const auto& op : unit.ops)
    if (runs(unit, op))
      fmt::print("    {:<18}  {:<12}  {}{}{}\n", plan::word(op.role), op.spec, op.kernel, op.remark.empty() ? "" : "; ",
                 op.remark);
  if (!unit.fusion_remark.empty() && !unit.feature_fused) fmt::print("    {}\n", unit.fusion_remark);
}

void print_layers(const program::Program& program, bool verbose) {
  std::size_t name = 5, type = 4, output = 6;
  for (const auto& unit : program.units()) {
    name = std::max(name, unit.described->name.size());
    type = std::max(type, unit.described->type.size());
    output = std::max(output, output_of(unit).size());
  }
  const auto row = [&](std::string_view first, std::string_view second, std::string_view third, std::string_view params,
                       std::string_view memory, std::string_view operations, std::string_view kernel) {
    fmt::print("{:<{}}  {:<{}}  {:<{}}  {:>10}  {:>9}  {:>10}  {}\n", first, name, second, type, third, output, params,
               memory, operations, kernel);
  };
  row("layer", "type", "output", "params", "memory", "operations", "kernel");
  for (const auto& unit : program.units()) {
    const auto& node = *unit.described;
    const auto memory = memory_of(program, unit);
    const std::size_t bytes = memory.activations + memory.params;
    row(node.name, node.type, output_of(unit), node.params.empty() ? "" : std::to_string(elements_of(node)),
        bytes > 0 ? record::short_bytes(bytes) : "", operations_of(unit) > 0 ? scaled(operations_of(unit)) : "",
        kernel_of(unit));
    if (verbose) print_ops(unit);
  }
  fmt::print("\n");
  if (verbose)
    fmt::print(
        "Below a layer: its ops, forward and backward, each with the kernel that the device chose. If the device\n"
        "passed over a faster kernel, or a layer could not be fused into the op before it, the reason follows.\n\n");
}

// Prints why the device did not choose faster kernels; most nets have no such lines.
void print_reasons(const program::Program& program) {
  bool any = false;
  for (const auto& unit : program.units())
    for (const auto& op : unit.ops)
      if (runs(unit, op) && !op.remark.empty()) {
        if (!std::exchange(any, true)) fmt::print("why not faster:\n");
        fmt::print("  layer '{}', {} {} ({}): {}\n", unit.described->name, plan::word(op.role), op.spec, op.kernel,
                   op.remark);
      }
  if (any) fmt::print("\n");
}

using Samples = std::vector<run::SamplesFound>;

void print_samples(const run::Session& session, const Samples& found, bool verbose) {
  const auto names = run::class_names(session);
  if (found.empty()) return;
  fmt::print("samples     {}\n", run::to_string(found, 12));
  for (const auto& remark : run::remarks(found, names)) fmt::print("            {}\n", remark);
  if (!verbose) return;
  std::size_t classes = 0;
  for (const auto& phase : found) classes = std::max(classes, phase.of_class.size());
  for (std::size_t number = 0; number < classes; ++number) {
    fmt::print("  class {:<4}{:<16}", number, number < names.size() ? env::printable(names[number], 60) : "");
    for (const auto& phase : found)
      if (number < phase.of_class.size()) fmt::print("  {} {:>7}", config::key_of(phase.phase), phase.of_class[number]);
    fmt::print("\n");
  }
}

void print_net(const program::Program& program, const run::Session& session, const Samples& samples, bool verbose) {
  using record::short_bytes;
  print_layers(program, verbose);
  if (!verbose) print_reasons(program);
  const run::MemoryNeed need = session.need(program, Phase::train);
  const std::uint64_t available = env::memory_of_machine().available_bytes;
  fmt::print("device      {}: {}\nparams      {}\noperations  {} a step\n", session.job().train.device.type,
             session.device().description(), session.store().elements(), scaled(program.operations()));
  fmt::print(
      "memory      {} in all, of {} that are available: {} features and gradients ({} if none shared its place), "
      "{} params and updater state\n",
      short_bytes(need.total), short_bytes(available), short_bytes(program.footprint().arena),
      short_bytes(program.footprint().unshared), short_bytes(session.store().bytes()));
  const bool on_device = !session.device().traits().host_memory;
  const auto free_there = session.device().room();
  const run::MemoryNeed there = on_device ? session.device_need(program, Phase::train) : run::MemoryNeed();
  if (on_device)
    fmt::print("on device   {} in all{}\n", short_bytes(there.total),
               free_there ? fmt::format(", of {} that are free", short_bytes(free_there->free)) : "");
  print_samples(session, samples, verbose);
  if (program.link_count() > 0)
    fmt::print("conversions {} a step, between layers that want a feature in different memory formats\n",
               program.link_count());
  if (const Status room = run::check_room(need, available, "train.batch", session.batch(Phase::train)); !room.ok())
    fmt::print("\nThe job cannot run on this machine: {}\n", room.message());
  if (!free_there) return;
  if (const Status room = run::check_room(there, free_there->free, "train.batch", session.batch(Phase::train));
      !room.ok())
    fmt::print("\nThe job cannot run on this device: {}\n", room.message());
}

// What each param costs in the exchange among workers.
void print_exchange(const run::WorkerLayout& layout, const param::Store& store, bool verbose) {
  using record::short_bytes;
  const plan::Exchange& exchange = layout.exchange;
  const auto rows = layout.table.rows(store);
  std::size_t sent = 0, kept = 0, name = 5, what = 4;
  for (const auto& row : rows) {
    sent += row.sent_bytes;
    kept += row.kept_bytes;
    name = std::max(name, row.param.size());
    what = std::max(what, row.sent.size());
  }
  fmt::print("\nexchange    {} add up what workers send, {} by a worker in each step, and keep {} in a server group\n",
             plan::word(exchange.sums), short_bytes(sent), short_bytes(kept));
  if (exchange.groups != plan::Exchange::Groups::one)
    fmt::print("            server groups exchange {}\n", plan::word(exchange.groups));
  if (exchange.encodes != plan::Exchange::Encodes::nothing)
    fmt::print("            the codec encodes {}\n", plan::word(exchange.encodes));
  if (!verbose) return;
  fmt::print("  {:<{}}  {:<{}}  {:>9}  {:>6}  {:>8}  {:>9}\n", "param", name, "sent", what, "bytes", "slices",
             "versions", "kept");
  for (const auto& row : rows)
    fmt::print("  {:<{}}  {:<{}}  {:>9}  {:>6}  {:>8}  {:>9}\n", row.param, name, row.sent, what,
               short_bytes(row.sent_bytes), row.slices, row.versions, short_bytes(row.kept_bytes));
}

nlohmann::json exchange_json(const run::WorkerLayout& layout, const param::Store& store) {
  const plan::Exchange& exchange = layout.exchange;
  nlohmann::json params = nlohmann::json::array();
  for (const auto& row : layout.table.rows(store))
    params.push_back({{"param", row.param},
                      {"sent", row.sent},
                      {"sent_bytes", row.sent_bytes},
                      {"slices", row.slices},
                      {"versions", row.versions},
                      {"kept_bytes", row.kept_bytes}});
  return {{"added_by", plan::word(exchange.sums)},          {"in_step", exchange.in_step},
          {"groups_exchange", plan::word(exchange.groups)}, {"encoded", plan::word(exchange.encodes)},
          {"versions_outlive", exchange.versions_outlive},  {"params", params}};
}

nlohmann::json samples_json(const Samples& samples) {
  nlohmann::json phases = nlohmann::json::object();
  for (const auto& found : samples)
    phases[std::string(config::key_of(found.phase))] = {
        {"count", found.count}, {"of_class", found.of_class}, {"left_over", found.left_over}};
  return phases;
}

void print_json(const program::Program& program, const run::Session& session, const Samples& samples,
                const run::WorkerLayout* layout) {
  nlohmann::json layers = nlohmann::json::array();
  for (const auto& unit : program.units()) {
    nlohmann::json ops = nlohmann::json::array();
    for (const auto& op : unit.ops)
      ops.push_back({{"role", plan::word(op.role)},
                     {"op", op.spec},
                     {"kernel", op.kernel},
                     {"formats", op.formats},
                     {"remark", op.remark},
                     {"operations", op.operations},
                     {"runs", runs(unit, op)}});
    nlohmann::json outputs = nlohmann::json::array();
    for (std::size_t o = 0; o < unit.part.outputs.size(); ++o) {
      const Shape& shape = unit.part.outputs[o].shape;
      outputs.push_back({{"name", unit.described->setup.outputs[o].name},
                         {"shape", std::vector<std::int64_t>(shape.begin(), shape.end())}});
    }
    layers.push_back({{"name", unit.described->name},
                      {"type", unit.described->type},
                      {"outputs", outputs},
                      {"params", elements_of(*unit.described)},
                      {"param_bytes", memory_of(program, unit).params},
                      {"activation_bytes", memory_of(program, unit).activations},
                      {"ops", ops},
                      {"fused", unit.feature_fused},
                      {"remark", unit.fusion_remark}});
  }
  const nlohmann::json net = {{"device", session.device().description()},
                              {"layers", layers},
                              {"params", session.store().elements()},
                              {"operations", program.operations()},
                              {"plan_hash", plan::hash(program.plan())},
                              {"arena_bytes", program.footprint().arena},
                              {"unshared_bytes", program.footprint().unshared},
                              {"param_bytes", session.store().bytes()},
                              {"memory_bytes", session.need(program, Phase::train).total},
                              {"available_bytes", env::memory_of_machine().available_bytes},
                              {"device_bytes", session.device().traits().host_memory
                                                   ? nlohmann::json()
                                                   : nlohmann::json(session.device_need(program, Phase::train).total)},
                              {"conversions", program.link_count()},
                              {"exchange", layout ? exchange_json(*layout, session.store()) : nlohmann::json()},
                              {"samples", samples_json(samples)}};
  fmt::print("{}\n", env::json_text(net, 2));
}

Status check_job(Context& context, const CheckOptions& options) {
  const auto purpose = options.plan ? run::Purpose::planning : run::Purpose::looking;
  DLHOST_ASSIGN(const auto job, load_job(context, options.job, options.set, purpose));
  DLHOST_ASSIGN(auto session, run::Session::open(context.host, context.registry(), job, purpose));
  if (options.plan) return print_plan(*session, options.json);
  std::optional<run::WorkerLayout> layout;
  if (plan::Place::has_seats(job.topology)) {
    DLHOST_ASSIGN(auto plugins, plan::ExchangePlugins::make(job, context.registry()));
    const bool publishes = session->exchange().versions_outlive || session->exchange().groups_go_on;
    layout.emplace(job, session->exchange(), std::move(plugins), session->updater(),
                   plan::Place::machines(job.topology), 0, publishes);
    session->look_as(layout->place, &*layout);
  }
  DLHOST_ASSIGN(auto* program, session->trainer());
  DLHOST_ASSIGN(const Samples samples, run::samples_found(*session));
  if (options.json)
    print_json(*program, *session, samples, layout ? &*layout : nullptr);
  else
    print_net(*program, *session, samples, options.verbose);
  if (layout && !options.json) print_exchange(*layout, session->store(), options.verbose);
  return {};
}

} // namespace

void add_check(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("check", "find the problems of a job, or show its net: shapes, params, memory, kernels");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("job", options->job, "the job file")->required()->type_name("JOB.toml");
  command->add_option("--set", options->set, "change one key of the job; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("-v,--verbose", options->verbose, "every op with its kernel, and why not a faster one");
  command->add_flag("--plan", options->plan, "how the workers of a group divide the net, and what goes between them");
  command->add_flag("--json", options->json, "print JSON, for programs");
  command->footer(
      "Trains nothing, and does not allocate the job's memory. All problems are listed at once, each with file,\n"
      "line and column.\n\n"
      "Examples:\n"
      "  dlhost check job.toml\n"
      "  dlhost check -v job.toml\n"
      "  dlhost check --plan job.toml --set topology.workers_per_group=4 --set "
      "'partition.layers={\"fc*\"=\"features\"}'");
  command->callback([&context, options] {
    if (Status status = check_job(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
