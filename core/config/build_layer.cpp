#include "config/build_layer.h"

#include <algorithm>
#include <optional>
#include <set>

#include <dlhost/nearest.h>

#include "config/compose.h"
#include "config/job_schema.h"
#include "config/read_scheme.h"

namespace dlhost::config {

namespace {

constexpr std::string_view partition_key = "partition"; // a text or a table: no schema has that

std::optional<Phase> phase_named(std::string_view name) {
  if (name == "train") return Phase::train;
  if (name == "validate") return Phase::validate;
  if (name == "test") return Phase::test;
  return std::nullopt;
}

class LayerBuilder {
 public:
  LayerBuilder(const RawLayer& raw, SchemaSource& plugins, Problems& problems)
      : raw_(raw), plugins_(plugins), problems_(problems) {
    if (raw.used_at.line > 0) suffix_ = concat(" (in the block used at ", to_string(raw.used_at), ")");
  }

  Layer build() {
    const Schema& schema = layer_schema();
    Table own, others;
    own.where = others.where = raw_.table.where;
    for (const auto& entry : raw_.table.entries)
      if (entry.first != partition_key) (schema.find(entry.first) ? own : others).entries.push_back(entry);
    LayerKeys keys;
    auto found = schema.parse(own, &keys, &plugins_);
    place_ = keys.name.empty() ? "layer" : concat("layer '", keys.name, "'");
    layer_.name = keys.name;
    const std::vector<std::string> meant = mistaken(schema, keys.type, others);
    for (auto& problem : found)
      if (own.find(problem.key) || std::ranges::find(meant, problem.key) == meant.end())
        add(problem.where, problem.key, ": ", problem.message);
    layer_.type = keys.type;
    layer_.augment = std::move(keys.augment);
    if (const Value* augment = own.find("augment")) layer_.augment_at = augment->where;
    layer_.frozen = keys.frozen;
    if (own.find("dtype")) layer_.dtype = keys.dtype;
    layer_.location = keys.location;
    partition(raw_.table.find(partition_key));
    layer_.where = raw_.table.where;
    layer_.used_at = raw_.used_at;
    layer_.folder_given = !keys.folder.empty();
    const std::string beside = layer_.where.file ? folder_of(*layer_.where.file) : ".";
    layer_.folder = keys.folder.empty() ? beside : join_path(beside, keys.folder);
    name(own);
    plugin(schema, others);
    sources(keys.src, own.find("src"));
    if (!layer_.augment.empty() && !layer_.src.empty())
      add(own.find("augment")->where, "augment: is for sources, which bring samples in; this layer reads '",
          layer_.src[0].layer, "'");
    if (layer_.dtype && layer_.src.empty())
      add(own.find("dtype")->where, "dtype: a source does not convert samples; set dtype on the layers that compute");
    phases(keys.phases, own.find("phases"));
    for (const auto& [param, value] : keys.param.entries) this->param(param, value);
    layer_.options = std::move(others);
    return std::move(layer_);
  }

 private:
  template <class... Parts> void add(const Location& where, const Parts&... message) {
    problems_.add(where, place_, ": ", message..., suffix_);
    problems_.refuse_layer(layer_.name);
  }

  // Core's keys that unknown keys were probably meant as: they are not reported as missing.
  std::vector<std::string> mistaken(const Schema& core, const std::string& type, const Table& others) {
    const Schema* options = type.empty() ? nullptr : plugins_.find(Kind::layer, type);
    std::vector<std::string> known{std::string(partition_key)}, meant;
    for (const Schema* schema : {&core, options})
      if (schema)
        for (const auto& option : schema->options()) known.push_back(option.name);
    for (const auto& [key, value] : others.entries) {
      if (options && options->find(key)) continue;
      if (std::string near = nearest(key, known); core.find(near) || near == partition_key) {
        if (type.empty())
          add(value.where, key, ": unknown option; ", problems_.suggest(key, known)); // no plugin reports it
        meant.push_back(std::move(near));
      }
    }
    return meant;
  }

  void name(const Table& own) {
    static constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+";
    const Value* value = own.find("name");
    if (!value || !std::holds_alternative<std::string>(value->data)) return;
    if (layer_.name.empty() || layer_.name.find_first_not_of(allowed) != std::string::npos)
      add(value->where, "name: must be made of letters, digits, _ - . / and +, but is ", detail::written(*value));
  }

  void plugin(const Schema& core, const Table& options) {
    if (layer_.type.empty()) return;
    const Schema* schema = plugins_.find(Kind::layer, layer_.type);
    if (!schema) return add(raw_.table.find("type")->where, "type: ", plugins_.why_not(Kind::layer, layer_.type));
    std::vector<std::string_view> also{partition_key};
    for (const auto& option : core.options()) {
      also.push_back(option.name);
      if (schema->find(option.name))
        add(raw_.table.where, "the layer type '", layer_.type, "' declares the option '", option.name,
            "', which every layer has already; its author must rename it");
    }
    for (auto& problem : schema->parse(options, nullptr, &plugins_, also))
      add(problem.where, problem.key, ": ", problem.message);
  }

  void sources(const std::vector<std::string>& texts, const Value* value) {
    if (!value) return;
    const auto* list = std::get_if<List>(&value->data);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const Location& where = list ? (*list)[i].where : value->where;
      const auto colon = texts[i].find(':');
      Source source{texts[i].substr(0, colon), colon == std::string::npos ? "" : texts[i].substr(colon + 1), where};
      if (source.layer.empty() || (colon != std::string::npos && source.port.empty()) ||
          source.port.find(':') != std::string::npos)
        add(where, "src: must be \"layer\" or \"layer:output\", but is ", detail::written(texts[i]));
      else
        layer_.src.push_back(std::move(source));
    }
  }

  void partition(const Value* value) {
    if (!value) return;
    layer_.scheme.emplace();
    for (const auto& problem : read_scheme(*value, *layer_.scheme))
      add(problem.where, partition_key, problem.key.empty() ? "" : ".", problem.key, ": ", problem.message);
  }

  void phases(const std::vector<std::string>& words, const Value* value) {
    for (const auto& word : words) {
      if (const auto phase = phase_named(word))
        layer_.phases.push_back(*phase);
      else
        add(value->where, "phases: '", word, "' is not allowed; ",
            suggestion(word, std::vector<std::string>{"train", "validate", "test"}));
    }
  }

  void param(const std::string& name, const Value& value) {
    const std::string path = concat("param.", name);
    const auto* table = std::get_if<Table>(&value.data);
    if (!table)
      return add(value.where, path, ": must be a table such as { rate_scale = 2 }, but is ", detail::written(value));
    ParamKeys keys;
    for (auto& problem : param_schema().parse(*table, &keys, &plugins_))
      add(problem.where, path, ".", problem.key, ": ", problem.message);
    Param param;
    param.name = name;
    param.where = value.where;
    if (table->find("init")) param.init = keys.init;
    if (table->find("rate_scale")) param.rate_scale = keys.rate_scale;
    if (table->find("decay_scale")) param.decay_scale = keys.decay_scale;
    param.share = keys.share;
    param.frozen = keys.frozen;
    if (table->find("consistency")) param.consistency = keys.consistency;
    layer_.params.push_back(std::move(param));
  }

  const RawLayer& raw_;
  SchemaSource& plugins_;
  Problems& problems_;
  std::string place_, suffix_;
  Layer layer_;
};

// Whether a layer of that name may exist in spite of problems: a layer without a readable name, or one of a block whose
// use failed.
bool may_be_there(std::string_view name, const Layers& raw, const Problems& problems) {
  if (problems.refused("layer") || problems.refused_layer("")) return true;
  for (auto end = name.size(); !raw.whole && end != name.npos; end = name.substr(0, end).find_last_of('.'))
    if (problems.refused_layer(name.substr(0, end))) return true;
  return false;
}

// A source that names a use of a block becomes the block's output layer; any other name must be a layer.
void resolve(std::vector<Layer>& layers, const Layers& raw, Problems& problems) {
  std::map<std::string_view, const Layer*> known;
  std::vector<std::string> names;
  for (const auto& layer : layers) {
    if (layer.name.empty()) continue;
    const auto [first, added] = known.emplace(layer.name, &layer);
    if (!added)
      problems.of_layer(layer.name, layer.where, "there is a layer of that name already, at ",
                        to_string(first->second->where));
    names.push_back(layer.name);
  }
  for (const auto& [use, output] : raw.outputs) {
    names.push_back(use);
    if (const auto same = known.find(use); same != known.end())
      problems.of_layer(std::string(use), same->second->where, "there is a use of a block of that name as well");
  }
  for (auto& layer : layers)
    for (auto& source : layer.src) {
      for (auto use = raw.outputs.find(source.layer); use != raw.outputs.end(); use = raw.outputs.find(source.layer))
        source.layer = use->second;
      if (!known.contains(source.layer) && !may_be_there(source.layer, raw, problems))
        problems.of_layer(layer.name, source.where, "src: unknown layer '", source.layer, "'; ",
                          problems.suggest(source.layer, names),
                          layer.used_at.line > 0 ? concat(" (in the block used at ", to_string(layer.used_at), ")")
                                                 : "");
    }
}

} // namespace

std::vector<Layer> build_layers(const Layers& raw, SchemaSource& plugins, Problems& problems) {
  std::vector<Layer> layers;
  for (const auto& layer : raw.list) layers.push_back(LayerBuilder(layer, plugins, problems).build());
  resolve(layers, raw, problems);
  return layers;
}

} // namespace dlhost::config
