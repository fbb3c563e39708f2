#include "run/session/manifest.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "run/recovery/resume_position.h"

namespace dlhost::run {

namespace {

using Json = nlohmann::json;

// A step each microsecond for thirty years, and a million samples in each.
constexpr std::uint64_t most_steps = 1'000'000'000'000'000;
constexpr std::uint64_t most_items = 1'000'000'000'000'000'000;
constexpr double most_seconds = 1e12, most_epochs = 1e15;

// Each check says whether the value is sound; the first that is not, is what is told.
class Check {
 public:
  explicit Check(std::string path) : path_(std::move(path)) {}

  Status run(const Json& run) {
    if (!object(run, "run")) return std::move(status_);
    if (const auto step = count(run, "run.step", "step", most_steps); step && run.contains("training")) {
      if (training(run["training"]) && run["training"]["step"] != *step)
        status_ = Status::corrupt(path_, ": run.step is ", *step, ", but its training stands at step ",
                                  env::json_text(run["training"]["step"]));
    } else if (step) {
      missing("run.training");
    }
    return std::move(status_);
  }

 private:
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

  // Its metric, and when that was; older checkpoints do not say.
  bool best_at(const Json& state) {
    const std::string name = "run.training.best_at";
    if (!state.contains("best_at") || state["best_at"].is_null()) return true;
    const Json& at = state["best_at"];
    if (!at.is_array() || at.size() != 4 || !at[0].is_string())
      return wrong(name, "a metric, a step, an epoch and seconds");
    return element(at[1], name, most_steps) && between(at[2], name, most_epochs) && between(at[3], name, most_seconds);
  }

  // When something was done last: step, epoch and seconds.
  bool last(const Json& state, const char* key, std::uint64_t step) {
    const std::string name = std::string("run.training.") + key;
    if (!state.contains(key)) return missing(name);
    const Json& at = state[key];
    if (!at.is_array() || at.size() != 3) return wrong(name, "a step, an epoch and seconds");
    return element(at[0], name, step) && between(at[1], name, most_epochs) && between(at[2], name, most_seconds);
  }

  bool loss_scale(const Json& state, std::uint64_t step) {
    const std::string name = "run.training.loss_scale";
    if (!state.contains("loss_scale")) return true;
    const Json& scale = state["loss_scale"];
    if (!scale.is_array() || scale.size() != 3) return wrong(name, "a factor and two counts");
    if (!between(scale[0], name, std::numeric_limits<float>::max())) return false;
    if (scale[0].get<double>() <= 0) return wrong(name, "a factor above 0");
    return element(scale[1], name, step) && element(scale[2], name, step);
  }

  bool workers(const Json& state) {
    if (!state.contains("workers") || state["workers"].is_null()) return true;
    const Json& workers = state["workers"];
    if (!object(workers, "run.training.workers")) return false;
    if (!workers.contains("consistency") || !workers["consistency"].is_string())
      return wrong("run.training.workers.consistency", "a name");
    if (!count(workers, "run.training.workers.version", "version", most_steps)) return false;
    if (workers.contains("own_values") && !workers["own_values"].is_boolean())
      return wrong("run.training.workers.own_values", "true or false");
    if (!workers.contains("steps")) return missing("run.training.workers.steps");
    if (!counts(workers["steps"], "run.training.workers.steps")) return false;
    if (workers.contains("others") && !counts(workers["others"], "run.training.workers.others")) return false;
    return !workers.contains("slices") || slices(workers["slices"]);
  }

  bool slices(const Json& slices) {
    const std::string name = "run.training.workers.slices";
    if (!slices.is_array()) return wrong(name, "a list");
    for (const Json& slice : slices) {
      if (!slice.is_array() || slice.size() != 3) return wrong(name, "a version, steps and versions of each");
      if (!element(slice[0], name, most_steps) || !counts(slice[1], name) || !counts(slice[2], name)) return false;
    }
    return true;
  }

  // How many there are, and what stands for a few of them.
  bool samples(const Json& print, const std::string& name) {
    if (!object(print, name) || !count(print, name + ".count", "count", most_items)) return false;
    if (print.contains("of_all") && !print["of_all"].is_string()) return wrong(name + ".of_all", "a text");
    return (print.contains("digest") && print["digest"].is_string()) || wrong(name + ".digest", "a text");
  }

  // Of each source: where its steps are counted from, and where it stands.
  bool data(const Json& state) {
    const std::string name = "run.training.data";
    if (!state.contains("data")) return true;
    if (!state["data"].is_array()) return wrong(name, "a list");
    for (const Json& source : state["data"]) {
      if (!object(source, name) || !count(source, name + ".stride", "stride", most_items) ||
          !count(source, name + ".last", "last", 2))
        return false;
      if (source.contains("samples") && !samples(source["samples"], name + ".samples")) return false;
      for (const auto& [key, size] : {std::pair("origin", 3U), std::pair("at", 2U)}) {
        const std::string inner = name + "." + key;
        if (!source.contains(key)) return missing(inner);
        if (!source[key].is_array() || source[key].size() != size) return wrong(inner, "a place in the samples");
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
    if (!list.is_array()) return wrong(name, "a list of counts");
    for (const Json& one : list)
      if (!element(one, name, most_steps)) return false;
    return true;
  }

  bool element(const Json& value, const std::string& name, std::uint64_t most) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() <= most) return true;
    return wrong(name, "a count of at most " + std::to_string(most), &value);
  }

  bool between(const Json& value, const std::string& name, double most) {
    if (value.is_number() && value.get<double>() >= 0 && value.get<double>() <= most) return true;
    return wrong(name, "a number from 0 on, and no larger than can be", &value);
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

  bool object(const Json& value, const std::string& name) { return value.is_object() || wrong(name, "an object"); }

  bool missing(const std::string& name) {
    status_ = Status::corrupt(path_, ": ", name, " is missing");
    return false;
  }

  bool wrong(const std::string& name, const std::string& wanted, const Json* value = nullptr) {
    const bool shown = value && value->is_number();
    status_ = Status::corrupt(path_, ": ", name, shown ? " is " + value->dump() + ", and " : " ", "must be ", wanted);
    return false;
  }

  std::string path_;
  Status status_;
};

} // namespace

Status check_manifest(const nlohmann::json& run, const std::string& path) { return Check(path).run(run); }

} // namespace dlhost::run
