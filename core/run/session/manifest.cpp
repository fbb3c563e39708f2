#include "run/session/manifest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "env/printable.h"
#include "plan/plan.h"
#include "run/input/inputs.h"
#include "run/recovery/resume_position.h"

namespace dlhost::run {

namespace {

using Json = nlohmann::json;

// One step each microsecond for thirty years, and a thousand samples in each.
constexpr std::uint64_t most_steps = 1'000'000'000'000'000;
constexpr std::uint64_t most_items = 1'000'000'000'000'000'000;
constexpr double most_seconds = 1e12, most_epochs = 1e15;
constexpr std::size_t longest_job_name = 200; // as for a job
constexpr std::size_t longest_shown = 80;     // of a value in a message

bool is_control(char letter) { return static_cast<unsigned char>(letter) < ' ' || letter == '\x7f'; }

bool is_digest(std::string_view text) {
  constexpr std::size_t digits = 16;
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Each check returns whether the value is valid. The first that fails sets the status.
class Check {
 public:
  explicit Check(std::string path) : path_(std::move(path)) {}

  Status run(const Json& run) {
    if (!object(run, "run")) return std::move(status_);
    if (const auto step = count(run, "run.step", "step", most_steps); step && run.contains("training")) {
      if (training(run["training"]) && run["training"]["step"] != *step)
        status_ = Status::corrupt(path_, ": run.step is ", *step, ", but its training is at step ",
                                  env::json_text(run["training"]["step"]));
    } else if (step) {
      missing("run.training");
    }
    if (status_.ok()) about(run);
    return std::move(status_);
  }

 private:
  // The values that tell of the run: an older dlhost may not have written all of them.
  bool about(const Json& run) {
    return job(run) && seed(run) && (!run.contains("plan") || plan(run["plan"])) && matrices(run) && inputs(run) &&
           plugins(run);
  }

  bool job(const Json& run) {
    if (!run.contains("job")) return true;
    const Json& name = run["job"];
    const bool sound = name.is_string() && name.get_ref<const std::string&>().size() <= longest_job_name &&
                       name.get_ref<const std::string&>().find('\0') == std::string::npos;
    return sound || wrong("run.job", "the job's name, of at most 200 bytes", &name);
  }

  bool seed(const Json& run) {
    return !run.contains("seed") || element(run["seed"], "run.seed", std::numeric_limits<std::int64_t>::max());
  }

  bool plan(const Json& plan) {
    if (!object(plan, "run.plan")) return false;
    if (plan.contains("device") && !words(plan["device"], "run.plan.device")) return false;
    for (const auto& [key, least, most] :
         {std::tuple("threads", std::uint64_t{1}, std::uint64_t{std::numeric_limits<std::int32_t>::max()}),
          std::tuple("batch", std::uint64_t{1}, most_items),
          std::tuple("activation_bytes", std::uint64_t{0}, most_items),
          std::tuple("param_bytes", std::uint64_t{0}, most_items), std::tuple("links", std::uint64_t{0}, most_items)}) {
      const std::string name = std::string("run.plan.") + key;
      if (!plan.contains(key)) continue;
      if (!element(plan[key], name, most)) return false;
      if (plan[key].get<std::uint64_t>() < least) return wrong(name, "a count of at least 1", &plan[key]);
    }
    if (plan.contains("ops") && !ops(plan["ops"])) return false;
    if (!plan.contains("hash")) return true;
    const Json& hash = plan["hash"];
    if (!hash.is_string() || !is_digest(hash.get_ref<const std::string&>()))
      return wrong("run.plan.hash", "16 hexadecimal digits", &hash);
    const auto is = plan::hash_of(plan);
    return !is || *is == hash.get_ref<const std::string&>() ||
           wrong("run.plan.hash", "the hash of the plan beside it, " + *is, &hash);
  }

  bool ops(const Json& ops) {
    const std::string name = "run.plan.ops", wanted = "a list of layer, role, op, kernel and formats";
    if (!ops.is_array()) return wrong(name, wanted, &ops);
    for (const Json& op : ops) {
      if (!op.is_array() || op.size() != 5) return wrong(name, wanted, &op);
      for (const Json& part : op)
        if (!words(part, name)) return false;
      if (std::ranges::none_of(std::array{Role::feature, Role::input_gradient, Role::param_gradient},
                               [&](Role role) { return op[1].get_ref<const std::string&>() == plan::word(role); }))
        return wrong(name, "of a known role", &op[1]);
    }
    return true;
  }

  bool matrices(const Json& run) {
    if (!run.contains("matrices")) return true;
    const std::string name = "run.matrices";
    if (!run["matrices"].is_array()) return wrong(name, "a list of params", &run["matrices"]);
    std::set<std::string> known;
    for (const Json& param : run["matrices"]) {
      if (!words(param, name)) return false;
      if (!known.insert(param).second) return wrong(name, "of different params", &param);
    }
    return true;
  }

  bool inputs(const Json& run) {
    if (!run.contains("inputs")) return true;
    if (!object(run["inputs"], "run.inputs")) return false;
    for (const auto& [source, described] : run["inputs"].items()) {
      const std::string name = "run.inputs." + env::printable(source, longest_shown);
      const auto inputs = inputs_of(Json::object({{source, described}}), path_);
      if (source.empty() || !inputs.ok()) return wrong(name, "a source's outputs and classes", &described);
      std::set<std::string> known;
      for (const Port& output : inputs->at(source).outputs) {
        if (!words(output.name, name + ".outputs")) return false;
        if (!known.insert(output.name).second) return wrong(name + ".outputs", "of different names", &described);
      }
    }
    return true;
  }

  // "0.1+8f14e45fceea167a": a version, and a digest of the file. The digest is empty if the file could not be read.
  bool plugins(const Json& run) {
    if (!run.contains("plugins")) return true;
    if (!object(run["plugins"], "run.plugins")) return false;
    for (const auto& [plugin, build] : run["plugins"].items()) {
      const std::string name = "run.plugins." + env::printable(plugin, longest_shown);
      if (!words(plugin, "run.plugins") || !words(build, name)) return false;
      const auto& text = build.get_ref<const std::string&>();
      const auto plus = text.rfind('+');
      const bool sound = plus != std::string::npos && (plus + 1 == text.size() || is_digest(text.substr(plus + 1)));
      if (!sound) return wrong(name, "a version, + and a digest of 16 hexadecimal digits", &build);
    }
    return true;
  }

  bool training(const Json& state) {
    if (!object(state, "run.training")) return false;
    const auto step = count(state, "run.training.step", "step", most_steps);
    const bool sound = step && amount(state, "epoch", most_epochs) && amount(state, "seconds", most_seconds) &&
                       count(state, "run.training.items", "items", most_items) &&
                       count(state, "run.training.worse", "worse", most_steps) && number(state, "smoothed_loss") &&
                       flag(state, "has_loss") && last(state, "validated", *step) && last(state, "tested", *step);
    if (!sound) return false;
    if (state.contains("saved") && !last(state, "saved", *step)) return false;
    if (!state.contains("best")) return missing("run.training.best");
    if (!state["best"].is_null() && !number(state, "best")) return false;
    if (!best_at(state)) return false;
    return loss_scale(state, *step) && workers(state) && data(state) && ledgers(state);
  }

  // The best evaluation's metric and its time. Older checkpoints do not have it.
  bool best_at(const Json& state) {
    const std::string name = "run.training.best_at";
    if (!state.contains("best_at") || state["best_at"].is_null()) return true;
    const Json& at = state["best_at"];
    if (!at.is_array() || at.size() != 4 || !at[0].is_string())
      return wrong(name, "a metric, a step, an epoch and seconds", &at);
    return element(at[1], name, most_steps) && between(at[2], name, most_epochs) && between(at[3], name, most_seconds);
  }

  // The time of the last evaluation or checkpoint: step, epoch and seconds.
  bool last(const Json& state, const char* key, std::uint64_t step) {
    const std::string name = std::string("run.training.") + key;
    if (!state.contains(key)) return missing(name);
    const Json& at = state[key];
    if (!at.is_array() || at.size() != 3) return wrong(name, "a step, an epoch and seconds", &at);
    return element(at[0], name, step) && between(at[1], name, most_epochs) && between(at[2], name, most_seconds);
  }

  bool loss_scale(const Json& state, std::uint64_t step) {
    const std::string name = "run.training.loss_scale";
    if (!state.contains("loss_scale")) return true;
    const Json& scale = state["loss_scale"];
    if (!scale.is_array() || scale.size() != 3) return wrong(name, "a factor and two counts", &scale);
    if (!between(scale[0], name, std::numeric_limits<float>::max())) return false;
    if (scale[0].get<double>() <= 0) return wrong(name, "a factor above 0", &scale[0]);
    return element(scale[1], name, step) && element(scale[2], name, step);
  }

  bool workers(const Json& state) {
    if (!state.contains("workers") || state["workers"].is_null()) return true;
    const Json& workers = state["workers"];
    if (!object(workers, "run.training.workers")) return false;
    if (!workers.contains("consistency")) return missing("run.training.workers.consistency");
    if (!words(workers["consistency"], "run.training.workers.consistency")) return false;
    if (!count(workers, "run.training.workers.version", "version", most_steps)) return false;
    if (workers.contains("own_values") && !workers["own_values"].is_boolean())
      return wrong("run.training.workers.own_values", "true or false", &workers["own_values"]);
    if (!workers.contains("steps")) return missing("run.training.workers.steps");
    if (!counts(workers["steps"], "run.training.workers.steps")) return false;
    if (workers.contains("others") && !counts(workers["others"], "run.training.workers.others")) return false;
    return !workers.contains("slices") || slices(workers["slices"]);
  }

  bool slices(const Json& slices) {
    const std::string name = "run.training.workers.slices";
    if (!slices.is_array()) return wrong(name, "a list", &slices);
    for (const Json& slice : slices) {
      if (!slice.is_array() || slice.size() != 3) return wrong(name, "a version, steps and versions of each", &slice);
      if (!element(slice[0], name, most_steps) || !counts(slice[1], name) || !counts(slice[2], name)) return false;
    }
    return true;
  }

  // The number of samples, and digests of them.
  bool samples(const Json& print, const std::string& name) {
    if (!object(print, name) || !count(print, name + ".count", "count", most_items)) return false;
    if (print.contains("of_all") && !print["of_all"].is_string())
      return wrong(name + ".of_all", "a text", &print["of_all"]);
    if (!print.contains("digest")) return missing(name + ".digest");
    return print["digest"].is_string() || wrong(name + ".digest", "a text", &print["digest"]);
  }

  // For each source: its origin, and its present place.
  bool data(const Json& state) {
    const std::string name = "run.training.data";
    if (!state.contains("data")) return true;
    if (!state["data"].is_array()) return wrong(name, "a list", &state["data"]);
    for (const Json& source : state["data"]) {
      if (!object(source, name) || !count(source, name + ".stride", "stride", most_items) ||
          !count(source, name + ".last", "last", 2))
        return false;
      if (source.contains("samples") && !samples(source["samples"], name + ".samples")) return false;
      for (const auto& [key, size] : {std::pair("origin", 3U), std::pair("at", 2U)}) {
        const std::string inner = name + "." + key;
        if (!source.contains(key)) return missing(inner);
        if (!source[key].is_array() || source[key].size() != size)
          return wrong(inner, "a place in the samples", &source[key]);
        if (size == 3 && !element(source[key][0], inner, most_steps)) return false;
        if (!element(source[key][size - 2], inner, std::numeric_limits<std::uint32_t>::max()) ||
            !element(source[key][size - 1], inner, most_items))
          return false;
      }
    }
    return true;
  }

  bool ledgers(const Json& state) {
    const auto heads = ledgers_of(state);
    if (heads.ok()) return true;
    status_ = Status::corrupt(path_, ": run.training.ledgers ", heads.status().message());
    return false;
  }

  std::optional<std::uint64_t> count(const Json& in, const std::string& name, const char* key, std::uint64_t most) {
    if (!in.contains(key)) {
      missing(name);
      return {};
    }
    if (!element(in[key], name, most)) return {};
    return in[key].get<std::uint64_t>();
  }

  bool counts(const Json& list, const std::string& name) {
    if (!list.is_array()) return wrong(name, "a list of counts", &list);
    for (const Json& one : list)
      if (!element(one, name, most_steps)) return false;
    return true;
  }

  // Text of this build: names of layers, params, kernels and plugins.
  bool words(const Json& value, const std::string& name) {
    const bool sound = value.is_string() && !value.get_ref<const std::string&>().empty() &&
                       std::ranges::none_of(value.get_ref<const std::string&>(), is_control);
    return sound || wrong(name, "a text without control characters", &value);
  }

  bool element(const Json& value, const std::string& name, std::uint64_t most) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() <= most) return true;
    return wrong(name, "a count of at most " + std::to_string(most), &value);
  }

  bool between(const Json& value, const std::string& name, double most) {
    if (value.is_number() && value.get<double>() >= 0 && value.get<double>() <= most) return true;
    return wrong(name, "a number from 0 to the largest possible", &value);
  }

  bool amount(const Json& in, const char* key, double most) {
    const std::string name = std::string("run.training.") + key;
    return in.contains(key) ? between(in[key], name, most) : missing(name);
  }

  bool number(const Json& in, const char* key) {
    const std::string name = std::string("run.training.") + key;
    if (!in.contains(key)) return missing(name);
    return (in[key].is_number() && std::isfinite(in[key].get<double>())) || wrong(name, "a number", &in[key]);
  }

  bool flag(const Json& in, const char* key) {
    const std::string name = std::string("run.training.") + key;
    return in.contains(key) ? in[key].is_boolean() || wrong(name, "true or false", &in[key]) : missing(name);
  }

  bool object(const Json& value, const std::string& name) {
    return value.is_object() || wrong(name, "an object", &value);
  }

  bool missing(const std::string& name) {
    status_ = Status::corrupt(path_, ": ", name, " is missing");
    return false;
  }

  bool wrong(const std::string& name, const std::string& wanted, const Json* value = nullptr) {
    const std::string shown =
        value ? concat(" is ", env::printable(env::json_text(*value), longest_shown), ", and ") : " ";
    status_ = Status::corrupt(path_, ": ", name, shown, "must be ", wanted);
    return false;
  }

  std::string path_;
  Status status_;
};

} // namespace

Status check_manifest(const nlohmann::json& run, const std::string& path) { return Check(path).run(run); }

} // namespace dlhost::run
