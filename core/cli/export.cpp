// dlhost export: the params of a checkpoint as one file that others read.
#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/names.h"
#include "cli/opened_run.h"
#include "cli/run_named.h"
#include "env/json_text.h"
#include "param/file/import_export.h"
#include "run/session/checkpoints.h"

namespace dlhost::cli {
namespace {

struct ExportOptions {
  std::string from, file, format;
  NameOptions names;
  ParamsChoice params;
};

Result<param::TensorFormat> format_of(const ExportOptions& options) {
  if (options.format == "npz" || (options.format.empty() && options.file.ends_with(".npz")))
    return param::TensorFormat::npz;
  if (options.format == "safetensors" || (options.format.empty() && options.file.ends_with(".safetensors")))
    return param::TensorFormat::safetensors;
  return Status::invalid("'", options.file, "' ends in neither .safetensors nor .npz; say which with --format");
}

// A dense layer behind a picture keeps its weight as [units, channels, height, width]; others have [units, inputs].
void flatten_matrices(const nlohmann::json& run, param::TensorFile& file) {
  const auto names = run.is_object() ? run.value("matrices", nlohmann::json::array()) : nlohmann::json::array();
  for (auto& tensor : file.tensors)
    if (tensor.shape.size() > 2 && std::find(names.begin(), names.end(), tensor.name) != names.end())
      tensor.shape = {tensor.shape[0], std::accumulate(tensor.shape.begin() + 1, tensor.shape.end(), std::int64_t{1},
                                                       std::multiplies<>())};
}

Status export_params(Context& context, const ExportOptions& options) {
  Disk& disk = context.host.disk();
  DLHOST_ASSIGN(const auto format, format_of(options));
  DLHOST_ASSIGN(const auto names, names_of(disk, options.names));
  DLHOST_ASSIGN(const std::string from, run_named(disk, options.from));
  DLHOST_ASSIGN(auto checkpoint, checkpoint_named(context.host, from, options.params));
  const nlohmann::json run = checkpoint.manifest->at("run");
  DLHOST_ASSIGN(auto tensors, param::tensors_of(std::move(checkpoint)));
  flatten_matrices(run, tensors);
  std::vector<std::vector<float>> values;
  DLHOST_ASSIGN(const auto given, param::give(tensors, names, values));
  param::Metadata metadata;
  if (run.is_object() && run.contains("inputs")) metadata[param::inputs_key] = env::json_text(run["inputs"]);
  DLHOST_TRY(param::write_tensors(disk, options.file, format, given, std::move(metadata)));
  fmt::print("{}: {} tensors of {}\n", options.file, given.size(), tensors.what);
  return {};
}

} // namespace

void add_export(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("export", "write the params of a run as one safetensors or npz file");
  auto options = std::make_shared<ExportOptions>();
  add_run_named(*command, options->from, ", one checkpoint in it");
  command->add_option("-o,--output", options->file, "the file")->required()->type_name("FILE");
  command->add_option("--format", options->format, "left out: by the file's ending")
      ->check(CLI::IsMember({"safetensors", "npz"}));
  add_params_choice(*command, options->params);
  add_names(*command, options->names);
  command->footer("Of a run's folder, the best checkpoint is taken, or without validations the newest whole one.\n\n"
                  "Examples:\n"
                  "  dlhost export runs/digits-... -o digits.safetensors\n"
                  "  dlhost export runs/digits-... -o digits.npz --rename '*.weight=*/kernel'");
  command->callback([&context, options] {
    if (Status status = export_params(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
