// dlhost new: makes a small project outside the tree that builds, tests and installs one plugin.
#include <algorithm>

#include <fmt/format.h>

#include <dlhost/nearest.h>

#include "cli/command.h"
#include "cli/tools.h"
#include "tools/new/templates.h"
#include "tools/tool.h"

namespace dlhost::tools {
namespace {

struct NewOptions {
  std::string kind, name, folder;
  bool cuda = false; // with the layer's own GPU kernels
};

std::string_view template_named(std::string_view name) {
  const auto* found = std::find_if(templates, templates + template_count,
                                   [&](const Template& candidate) { return candidate.name == name; });
  return found == templates + template_count ? "" : found->text;
}

// The kinds with a template, plus losses and sources, which are layers.
std::vector<std::string> kinds_with_template() {
  std::vector<std::string> kinds;
  for (Kind kind : all_kinds()) {
    if (!template_named(concat(name_of(kind), ".cpp")).empty()) kinds.emplace_back(name_of(kind));
    if (kind == Kind::layer) kinds.insert(kinds.end(), {"loss", "source"});
  }
  return kinds;
}

// The cases of the conformance suite; empty: the suite needs none.
std::string_view cases_of(const std::string& kind) { return template_named(kind + ".conform.toml"); }

Status check_name(const std::string& name) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z' && name.size() <= 40 && std::ranges::all_of(name, allowed))
    return {};
  return Status::invalid("'", name,
                         "' cannot be a plugin's name: use up to 40 lower-case letters, digits and '_', with "
                         "a letter in front, such as my_layer");
}

std::string class_named(std::string_view name) {
  std::string text;
  bool upper = true;
  for (char c : name) {
    if (c != '_') text += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = c == '_';
  }
  return text;
}

// The README's sentence about how a job names a plugin of this kind.
std::string use_of(const std::string& kind, const std::string& name) {
  const auto in_job = [&](std::string_view table, std::string_view key) {
    return fmt::format("In a job it is {} with `{} = \"{}\"`.", table, key, name);
  };
  if (kind == "layer") return in_job("a `[[layer]]`", "type");
  if (kind == "loss") return in_job("a `[[layer]]` with `src = [\"...\", \"data:label\"]`", "type");
  if (kind == "schedule") return in_job("`[updater]`", "rate");
  if (kind == "initializer") return in_job("a `[[layer]]`", "param.weight.init");
  if (kind == "augmentation") return in_job("a source", "augment");
  if (kind == "source") return in_job("a `[[layer]]` without `src`", "type");
  if (kind == "updater") return in_job("`[updater]`", "type");
  if (kind == "algorithm") return in_job("`[train]`", "algorithm");
  if (kind == "device")
    return in_job("`[train]`", "device") + " It has no ops yet: a job's error names the missing ones.";
  if (kind == "transport")
    return in_job("`[topology]`", "transport") + " Workers of one machine need one whose memory can be mapped.";
  if (kind == "rendezvous")
    return in_job("`[topology]`", "rendezvous") + " Processes that are started one by one meet by it.";
  if (kind == "store")
    return fmt::format(
        "No job names one yet: a source asks for it by its name (`host.make(Kind::store, {{\"{}\", {{}}}})`), "
        "as `lmdb` does.",
        name);
  return in_job("`[topology]`", kind);
}

// The conformance suite's arguments for a template.
struct TestArguments {
  std::string meson, cmake;
};
TestArguments test_arguments_of(const std::string& kind, const std::string& name) {
  if (kind == "device") {
    const std::string declined =
        "--declines=gemm,conv,pool,norm,lrn,softmax,softmax_loss,gather,map,reorder,transpose,box";
    return {fmt::format(", '{}'", declined), fmt::format(" {}", declined)};
  }
  if (kind == "store")
    return {fmt::format(", '--url={}://' + meson.current_build_dir()", name),
            fmt::format(" \"--url={}://${{CMAKE_CURRENT_BINARY_DIR}}\"", name)};
  if (!cases_of(kind).empty())
    return {", '--case', files('conform.toml')", " --case \"${CMAKE_CURRENT_SOURCE_DIR}/conform.toml\""};
  return {};
}

// The README's sentence about the project's files.
std::string files_of(const NewOptions& options) {
  if (options.cuda)
    return fmt::format(
        "`{0}.cpp` is the layer, `{0}_cuda.cu` its kernels for GPUs; `conform.toml` says how both are tried.",
        options.name);
  if (cases_of(options.kind).empty()) return fmt::format("`{}.cpp` is all of it.", options.name);
  return fmt::format("`{}.cpp` is all of it; `conform.toml` says how it is tried.", options.name);
}

std::string filled(std::string_view text, const NewOptions& options) {
  const auto arguments = test_arguments_of(options.kind, options.name);
  const std::pair<std::string_view, std::string> words[] = {
      {"@NAME@", options.name},
      {"@CLASS@", class_named(options.name)},
      {"@KIND@", options.kind},
      {"@FILES@", files_of(options)},
      {"@USE@", use_of(options.kind, options.name)},
      {"@CASES@", cases_of(options.kind).empty() ? "" : " --case conform.toml"},
      {"@MESON_ARGUMENTS@", arguments.meson},
      {"@CMAKE_ARGUMENTS@", arguments.cmake}};
  std::string result(text);
  for (const auto& [word, meaning] : words)
    for (auto at = result.find(word); at != std::string::npos; at = result.find(word, at + meaning.size()))
      result.replace(at, word.size(), meaning);
  return result;
}

Status make_project(cli::Context& context, const NewOptions& options) {
  const auto kinds = kinds_with_template();
  if (std::ranges::find(kinds, options.kind) == kinds.end())
    return Status::invalid("there is no template for the kind '", options.kind, "': ", suggestion(options.kind, kinds));
  DLHOST_TRY(check_name(options.name));
  Disk& disk = context.host.disk();
  const std::string folder = options.folder.empty() ? options.name : options.folder;
  if (disk.exists(folder))
    return Status::exists(folder, " exists already: remove it, or name another folder with --folder");
  if (options.cuda && options.kind != "layer")
    return Status::invalid("--cuda is for layers: only layers bring kernels of their own for GPUs");
  const std::string source = fmt::format("{}.cpp", options.name);
  struct File {
    std::vector<std::string> parts; // names of templates, concatenated
    std::string name;
  };
  std::vector<File> files{{{options.cuda ? "layer_with_kernels.cpp" : options.kind + ".cpp"}, source},
                          {{"meson.build"}, "meson.build"},
                          {{"CMakeLists.txt"}, "CMakeLists.txt"},
                          {{"README.md"}, "README.md"}};
  if (!cases_of(options.kind).empty()) files.push_back({{options.kind + ".conform.toml"}, "conform.toml"});
  if (options.cuda) {
    for (std::size_t i = 1; i <= 3; ++i) files[i].parts.push_back("kernels." + files[i].name);
    files.push_back({{"layer_kernels.cu"}, options.name + "_cuda.cu"});
  }
  DLHOST_TRY(disk.make_directory(folder));
  for (const auto& file : files) {
    std::string text;
    for (const auto& part : file.parts) text += filled(template_named(part), options);
    DLHOST_TRY(disk.write_text(folder + "/" + file.name, text));
  }
  fmt::print("{0}/{1} is a working {2} to change; then\n"
             "  cd {0} && meson setup build && meson compile -C build && meson test -C build\n"
             "README.md has the next steps.\n",
             folder, source, options.kind);
  return {};
}

} // namespace

void add_command(CLI::App& app, cli::Context& context) {
  auto* command = app.add_subcommand("new", cli::description_of_tool("new"));
  auto options = std::make_shared<NewOptions>();
  command
      ->add_option("kind", options->kind,
                   "layer, loss, source, augmentation, initializer, updater, schedule, algorithm, consistency, "
                   "sync, transport, rendezvous, device, codec or store")
      ->type_name("KIND")
      ->required();
  command->add_option("name", options->name, "as jobs will call it: my_layer")->type_name("NAME")->required();
  command->add_flag("--cuda", options->cuda, "a layer with kernels of its own for GPUs, in a .cu beside it");
  command->add_option("--folder", options->folder, "where to put it, instead of ./NAME")->type_name("FOLDER");
  command->footer("Writes a few files: the code, meson.build, CMakeLists.txt, how it is tested, and a README that says "
                  "what to do next.\n"
                  "Nothing of dlhost is built again for it.\n\n"
                  "Examples:\n"
                  "  dlhost new layer my_layer\n"
                  "  dlhost new layer my_layer --cuda\n"
                  "  dlhost new source my_source");
  command->callback([&context, options] {
    if (Status status = make_project(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::tools
