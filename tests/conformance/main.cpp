// dlhost-conform FILE...: checks whether a plugin's products keep the contracts of their kinds. Runs the conformance
// suite of each product in each file, as GoogleTest tests; GoogleTest's own options (--gtest_filter) work too.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "config/document.h"
#include "context.h"
#include "env/printable.h"
#include "env/process/write_signals.h"
#include "env/real_host.h"
#include "env/standard_files.h"
#include "guarded.h"
#include "kinds/kinds.h"
#include "layer/tests.h"
#include "plugin/exits.h"
#include "plugin/faults.h"
#include "plugin/search.h"
#include "simulated.h"

namespace dlhost::conform {
namespace {

constexpr double one_second = 1e9;

struct Arguments {
  std::vector<std::string> files;
  std::vector<std::string> settings;        // KEY=VALUE, of the products
  std::vector<std::string> device_settings; // KEY=VALUE, of the device
  std::vector<std::string> plugin_dirs;
  std::vector<std::string> declined;
  std::string device = "ref";
  std::string case_file;
  std::string url;
  std::uint64_t seed = 1;
  bool simulated = false;
  bool skip_absent = false;
  double hang_limit = static_cast<double>(plugin::call_limit) / one_second;
};

constexpr int skipped = 77; // exit status of a skipped test for Meson and automake

std::vector<std::string> names_of_ops() {
  return []<std::size_t... which>(std::index_sequence<which...>) {
    return std::vector{std::string(name_of(OpSpec(std::in_place_index<which>)))...};
  }
  (std::make_index_sequence<std::variant_size_v<OpSpec>>());
}

void declare(CLI::App& app, Arguments& arguments) {
  app.allow_extras(); // GoogleTest's
  app.footer("Options of GoogleTest work too: --gtest_list_tests, --gtest_filter=PATTERN, --gtest_brief=1.\n\n"
             "Examples:\n"
             "  dlhost conform my_layer.so\n"
             "  dlhost conform my_layer.so --case cases.toml --device cpu\n"
             "  dlhost conform my_store.so --url my_store:///tmp");
  app.add_option("file", arguments.files, "plugin files to test")
      ->required()
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  app.add_option("--set", arguments.settings, "an option of the products under test")->type_name("KEY=VALUE");
  app.add_option("--device", arguments.device, "the device that other kinds are tested on")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--device-set", arguments.device_settings, "an option of that device")->type_name("KEY=VALUE");
  app.add_option("--case", arguments.case_file,
                 "a TOML file that says how a layer is to be tested; else conform.toml beside the plugin")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  app.add_option("--url", arguments.url, "where a store may make a folder")->type_name("URL");
  app.add_option("--declines", arguments.declined, "ops that a device under test may lack: gemm,conv,...")
      ->delimiter(',')
      ->check(CLI::IsMember(names_of_ops()))
      ->type_name("OPS");
  app.add_option("--plugin-dir", arguments.plugin_dirs, "where to find other plugins")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
  app.add_option("--hang-limit", arguments.hang_limit, "a plugin hangs if a test takes longer than so many seconds")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option("--seed", arguments.seed, "of all values")->type_name("NUMBER")->capture_default_str();
  app.add_flag("--skip-absent", arguments.skip_absent,
               "where the machine has nothing that the device could use, say so and exit with 77");
  app.add_flag("--simulated", arguments.simulated,
               "on a simulated host: one task at a time, in virtual time, from the seed");
}

// Passes unknown options to GoogleTest; false, with a message, if it does not know them either.
bool take_test_options(char* program, std::vector<std::string> options) {
  std::vector<char*> arguments{program};
  for (auto& option : options) arguments.push_back(option.data());
  auto count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  testing::InitGoogleTest(&count, arguments.data());
  if (count > 1) say(concat("there is no option '", arguments[1], "'; --help says what there is"));
  print_failures_cut();
  return count == 1;
}

// Returns false, with a message, for settings that cannot be parsed.
bool read_settings(const std::vector<std::string>& settings, Table& into) {
  for (const auto& setting : settings) {
    const auto equals = setting.find('=');
    config::Problems problems;
    if (equals != std::string::npos)
      into.entries.emplace_back(setting.substr(0, equals),
                                config::parse_value(setting.substr(equals + 1), {}, problems));
    if (equals == std::string::npos || !problems.empty()) {
      say(concat("'", setting, "' is not KEY=VALUE"));
      return false;
    }
  }
  return true;
}

// Reads the cases of --case, or of conform.toml beside the plugin.
std::vector<LayerCase> cases_for(const Context& context, const std::string& file) {
  if (!context.case_file.empty()) return read_cases(context.host, context.case_file);
  const std::string beside = std::filesystem::path(file).replace_filename("conform.toml");
  return context.host.disk().exists(beside) ? read_cases(context.host, beside) : std::vector<LayerCase>();
}

void register_suite(const Context& context, Kind kind, const std::string& name, const std::vector<LayerCase>& cases) {
  switch (kind) {
  case Kind::device: return register_device_suite(context, name);
  case Kind::layer: return register_layer_suite(context, name, cases);
  case Kind::updater: return register_updater_suite(context, name);
  case Kind::schedule: return register_schedule_suite(context, name);
  case Kind::initializer: return register_initializer_suite(context, name);
  case Kind::augmentation: return register_augmentation_suite(context, name);
  case Kind::algorithm: return register_algorithm_suite(context, name);
  case Kind::codec: return register_codec_suite(context, name);
  case Kind::consistency: return register_consistency_suite(context, name);
  case Kind::sync: return register_sync_suite(context, name);
  case Kind::store: return register_store_suite(context, name);
  case Kind::transport: return register_transport_suite(context, name);
  case Kind::rendezvous: return register_rendezvous_suite(context, name);
  case Kind::kernel: return; // its layer's suite runs on it
  }
}

bool register_suites(const Context& context, const std::string& file) {
  const plugin::Candidate candidate = plugin::examine(file);
  for (const auto& problem : candidate.problems) say(concat(file, ": ", problem));
  if (!candidate.usable()) return false;
  const std::vector<LayerCase> cases = cases_for(context, file);
  for (const auto& [kind, name] : candidate.stamp->provides)
    guarded(context, kind, name, "before its tests",
            [&, kind = kind, &name = name] { register_suite(context, kind, name, cases); });
  return true;
}

// The reason why this machine cannot run a device under test, or one used by tests. ok: it can, or the tests will fail.
Status absent(const Context& context, const std::vector<std::string>& files) {
  const auto tried = [&](const std::string& name, const Table& options) {
    Status status;
    guarded(context, Kind::device, name, "stream", [&] {
      const auto device = context.make<Device>(name, options);
      if (const auto stream = device->stream(); stream.status().code() == Code::unsupported) status = stream.status();
    });
    return status;
  };
  DLHOST_TRY(tried(context.device, context.device_options));
  for (const auto& file : files)
    if (const plugin::Candidate candidate = plugin::examine(file); candidate.usable())
      for (const auto& [kind, name] : candidate.stamp->provides)
        if (kind == Kind::device) DLHOST_TRY(tried(name, context.options));
  return {};
}

int test(const Arguments& arguments, const std::vector<std::string>& folders, Host& host, const SetMaker& set_maker) {
  plugin::Registry registry(plugin::entries_of(plugin::settings_of_process(folders)), host);
  set_maker([&](Kind kind, const Part& part) { return registry.make(kind, part.type, part.options); });
  Context context{.host = host,
                  .registry = registry,
                  .device = arguments.device,
                  .case_file = arguments.case_file,
                  .url = arguments.url,
                  .seed = arguments.seed,
                  .declined = arguments.declined};
  if (!read_settings(arguments.settings, context.options)) return 2;
  if (!read_settings(arguments.device_settings, context.device_options)) return 2;
  try {
    if (arguments.skip_absent)
      if (const Status why = absent(context, arguments.files); !why.ok()) {
        std::printf("skipped: %s\n", env::printable(why.message(), env::longest_message).c_str());
        return skipped;
      }
    for (const auto& file : arguments.files)
      if (!register_suites(context, file)) return 2;
  } catch (const std::exception& wrong) {
    say(wrong.what());
    return 2;
  }
  return RUN_ALL_TESTS();
}

// Returns the exit status of the process.
int run(int argc, char** argv) {
  CLI::App app("Tests plugin files against the conformance suites of what they make.\n", "dlhost conform");
  Arguments arguments;
  declare(app, arguments);
  CLI11_PARSE(app, argc, argv);
  if (!take_test_options(argv[0], app.remaining())) return 2;
  plugin::watch_progress(static_cast<Nanoseconds>(arguments.hang_limit * one_second), plugin::call_limit_when_asked);

  // The files' folders come first, so that the named plugins are tested.
  std::vector<std::string> folders;
  for (auto& file : arguments.files) {
    file = std::filesystem::canonical(file);
    folders.push_back(std::filesystem::path(file).parent_path());
  }
  folders.insert(folders.end(), arguments.plugin_dirs.begin(), arguments.plugin_dirs.end());
  if (arguments.simulated)
    return in_a_world(arguments.seed,
                      [&](Host& host, const SetMaker& set_maker) { return test(arguments, folders, host, set_maker); });
  env::RealHost host(LogLevel::warning);
  return test(arguments, folders, host, [&](env::RealHost::Maker maker) { host.set_maker(std::move(maker)); });
}

} // namespace
} // namespace dlhost::conform

// Guarded like the commands of dlhost (cli/program.h).
int main(int argc, char** argv) {
  using namespace dlhost;
  env::hold_standard_files();
  env::tell_file_limits();
  plugin::install_fault_handlers();
  plugin::install_exit_guard();
  const int status = conform::run(argc, argv);
  plugin::order_end(status);
  return status;
}
