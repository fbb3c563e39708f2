#include "config/blocks.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include <dlhost/nearest.h>

#include "config/job_schema.h"
#include "config/substitute.h"

namespace dlhost::config {

namespace {

// Keys that a use of a block passes to every layer of the block.
constexpr std::string_view handed_on[] = {"phases", "dtype", "frozen", "partition", "location"};

// More layers are a mistake or a hostile file.
constexpr std::size_t most_layers = 20'000;

// The deepest nesting of blocks: each level is a recursive call here.
constexpr std::size_t most_open = 32;

struct Block {
  BlockKeys keys;
  Location where;
  std::vector<const Table*> layers;
  std::set<std::string, std::less<>> names; // names of the layers
  bool sound = true;                        // no problem was found in it
};

// A source that a use of a block names, and its place in the file.
struct Input {
  std::string name;
  Location where;
};

// The context in which a list of layers is expanded.
struct Site {
  std::string prefix; // "conv2.1."; empty at the top
  const Block* block = nullptr;
  Scope scope;
  std::vector<Input> inputs;      // the value of "@in"
  std::vector<const Block*> open; // the blocks of the uses around this one
  Location used_at;               // the outermost use
  Table handed;                   // keys that the uses pass on
};

std::string text_of(const Table& table, std::string_view key) {
  const Value* value = table.find(key);
  const auto* text = value ? std::get_if<std::string>(&value->data) : nullptr;
  return text ? *text : std::string();
}

void put(Table& table, std::string_view key, Value value) {
  for (auto& [name, old] : table.entries)
    if (name == key) {
      old = std::move(value);
      return;
    }
  table.entries.emplace_back(std::string(key), std::move(value));
}

class Expander {
 public:
  explicit Expander(Problems& problems) : problems_(problems) {}

  Layers run(Table& document) {
    // A misspelt key may be meant as `block`: then an unknown block name is not reported.
    const std::string key = "block";
    all_named_ = std::ranges::none_of(document.entries, [&](const auto& entry) {
      return entry.first != key && !nearest(entry.first, {&key, 1}).empty();
    });
    const List blocks = take(document, "block");
    const List layers = take(document, "layer");
    for (const auto& block : blocks)
      if (const Table* table = table_in(block, "block")) declare(*table);
    for (const auto& [name, block] : blocks_) result_.blocks.push_back(name);
    Site top;
    for (const auto& layer : layers)
      if (const Table* table = table_in(layer, "layer")) {
        if (table->find("block"))
          use(*table, top);
        else
          result_.list.push_back({*table, {}});
      }
    if (instances_ > most_layers || room_.is_full())
      result_.list.clear(); // the problem is reported; checking them all would gain nothing
    return std::move(result_);
  }

 private:
  List take(Table& document, std::string_view key) {
    const auto entry = std::ranges::find(document.entries, key, [](const auto& item) { return item.first; });
    if (entry == document.entries.end()) return {};
    Value value = std::move(entry->second);
    document.entries.erase(entry);
    if (auto* list = std::get_if<List>(&value.data)) return std::move(*list);
    problems_.of_key(std::string(key), value.where, "must be written as [[", key, "]]");
    return {};
  }

  const Table* table_in(const Value& value, std::string_view key) {
    if (const auto* table = std::get_if<Table>(&value.data)) return table;
    problems_.add(value.where, key, ": must be a table, but is ", detail::written(value));
    result_.whole = false;
    return nullptr;
  }

  void declare(const Table& table) {
    Block block;
    block.where = table.where;
    static constexpr std::string_view also[] = {"layer"};
    const std::size_t said = problems_.count();
    auto found = block_schema().parse(table, &block.keys, nullptr, also);
    const std::string place = block.keys.name.empty() ? "block" : concat("block '", block.keys.name, "'");
    for (auto& problem : found) problems_.add(problem.where, place, ": ", problem.key, ": ", problem.message);
    const Value* layers = table.find("layer");
    const auto* list = layers ? std::get_if<List>(&layers->data) : nullptr;
    if (!list || list->empty())
      problems_.add(table.where, place, ": has no layers: write [[block.layer]], or layer = [ { ... }, ... ]");
    else
      for (const auto& item : *list)
        if (const Table* layer = table_in(item, place + ": layer")) {
          block.layers.push_back(layer);
          block.names.insert(text_of(*layer, "name"));
        }
    if (!block.keys.out.empty() && !block.names.contains(block.keys.out))
      problems_.add(table.find("out")->where, place, ": out: unknown layer '", block.keys.out, "'; ",
                    problems_.suggest(block.keys.out, std::vector(block.names.begin(), block.names.end())));
    block.sound = problems_.count() == said;
    all_named_ = all_named_ && !block.keys.name.empty();
    if (block.keys.name.empty()) return;
    const auto [first, added] = blocks_.emplace(block.keys.name, std::move(block));
    if (!added)
      problems_.add(table.where, place, ": there is a block of that name already, at ", to_string(first->second.where));
  }

  void use(const Table& table, const Site& around) {
    if (unfold(table, around)) return;
    result_.whole = false;
    problems_.refuse_layer(text_of(table, "name"));
  }

  // Expands a [[layer]] with `block`, `repeat` times. False: some of its layers are missing.
  bool unfold(const Table& table, const Site& around) {
    BlockUse keys;
    const std::string place = concat("layer '", text_of(table, "name"), "'");
    auto found = block_use_schema().parse(table, &keys, nullptr, handed_on);
    for (auto& problem : found)
      problems_.add(problem.where, place, ": ", problem.key, ": ", problem.message, in(around));
    const auto block = blocks_.find(keys.block);
    if (keys.name.empty() || keys.block.empty() || !found.empty()) return false;
    const auto refuse = [&](const auto&... why) {
      problems_.add(table.find("block")->where, place, ": ", why..., in(around));
      return false;
    };
    if (block == blocks_.end() && !all_named_) return false; // a misspelt [[block]] may define it
    if (block == blocks_.end())
      return refuse("unknown block '", keys.block, "'; ", problems_.suggest(keys.block, result_.blocks));
    if (std::ranges::find(around.open, &block->second) != around.open.end())
      return refuse("the block '", keys.block, "' uses itself");
    if (around.open.size() >= most_open) return refuse("blocks use blocks more than ", most_open, " deep");
    if (!block->second.sound) return false;
    Site site;
    site.block = &block->second;
    site.open = around.open;
    site.open.push_back(&block->second);
    site.used_at = around.open.empty() ? table.where : around.used_at;
    site.inputs = inputs_of(table, keys);
    site.handed = around.handed;
    for (const auto key : handed_on)
      if (const Value* value = table.find(key); value && has_room(*value, site)) put(site.handed, key, *value);
    if (!parameters(table, keys, place, in(around), site)) return false;
    if (room_.is_full()) return false;
    const bool numbered = table.find("repeat") != nullptr;
    for (std::int64_t i = 1; i <= keys.repeat; ++i) {
      const std::string name = numbered ? concat(keys.name, ".", i) : keys.name;
      if (!expand(name, i, site)) return false;
      site.inputs = {{name, table.where}};
    }
    if (numbered) result_.outputs[keys.name] = concat(keys.name, ".", keys.repeat);
    return true;
  }

  static std::vector<Input> inputs_of(const Table& table, const BlockUse& keys) {
    std::vector<Input> inputs;
    const Value* value = table.find("src");
    const auto* list = value ? std::get_if<List>(&value->data) : nullptr;
    for (std::size_t i = 0; i < keys.src.size(); ++i)
      inputs.push_back({keys.src[i], list ? (*list)[i].where : value->where});
    return inputs;
  }

  // Fills the scope with the block's defaults and the values of the use.
  bool parameters(const Table& table, const BlockUse& keys, const std::string& place, const std::string& suffix,
                  Site& site) {
    const BlockKeys& block = site.block->keys;
    std::set<std::string> known(block.params.begin(), block.params.end());
    for (const auto& [name, value] : block.defaults.entries) {
      if (!has_room(value, site)) return false;
      site.scope[name] = value;
      known.insert(name);
    }
    bool right = true;
    std::set<std::string> meant; // known names that unknown names are nearest to
    const std::vector<std::string> names(known.begin(), known.end());
    int unknown = 0;
    for (const auto& [name, value] : keys.with.entries) {
      if (!has_room(value, site)) return false;
      site.scope[name] = value;
      if (known.contains(name)) continue;
      if (++unknown <= 20) meant.insert(nearest(name, names));
      problems_.add(value.where, place, ": with.", name, ": unknown parameter of the block '", block.name, "'; ",
                    problems_.suggest(name, names), suffix);
      right = false;
    }
    for (const auto& name : block.params)
      if (!site.scope.contains(name) && !meant.contains(name)) {
        problems_.add(table.where, place, ": with.", name, ": is required: the block '", block.name, "' has no default",
                      suffix);
        right = false;
      }
    return right;
  }

  // Expands one instance. False: too many layers, or a parameter could not be filled in.
  bool expand(const std::string& name, std::int64_t index, Site& site) {
    if (++instances_ > most_layers) {
      if (instances_ == most_layers + 1)
        problems_.add(site.used_at, "the blocks come to more than ", most_layers, " layers");
      return false;
    }
    site.prefix = name + ".";
    site.scope["name"] = {name, site.used_at};
    site.scope["index"] = {index, site.used_at};
    bool filled = true;
    const auto complain = [&](const Location& where, const std::string& message) {
      filled = false;
      problems_.add(where, "block '", site.block->keys.name, "': ", message, in(site));
    };
    std::vector<std::string> known;
    const auto suggest = [&](std::string_view unknown) {
      if (known.empty())
        for (const auto& [parameter, value] : site.scope) known.push_back(parameter);
      return problems_.suggest(unknown, known);
    };
    const Filling filling{site.scope, room_, complain, suggest};
    std::vector<Table> layers;
    for (const Table* written : site.block->layers) {
      Value layer = substitute({*written, written->where}, filling);
      if (!has_room({}, site)) return false;
      layers.push_back(std::get<Table>(std::move(layer.data)));
    }
    if (!filled) return false;
    std::string before;
    for (Table& layer : layers) {
      const std::string local = text_of(layer, "name");
      put(layer, "src", sources(layer, before, site));
      if (const Value* given = layer.find("name")) put(layer, "name", {site.prefix + local, given->where});
      before = site.prefix + local;
      if (layer.find("block")) {
        use(layer, site);
      } else {
        for (const auto& [key, value] : site.handed.entries)
          if (!layer.find(key) && has_room(value, site)) layer.entries.emplace_back(key, value);
        result_.list.push_back({std::move(layer), site.used_at});
        ++instances_;
      }
      if (instances_ > most_layers || room_.is_full()) return false;
    }
    const std::string& out = site.block->keys.out;
    if (!before.empty()) result_.outputs[name] = out.empty() ? before : site.prefix + out;
    return true;
  }

  // The full names of a layer's sources. Without `src`: the layer before, or the block's inputs for the first.
  Value sources(const Table& layer, const std::string& before, const Site& site) {
    const Value* given = layer.find("src");
    List list;
    const auto append = [&](const std::string& name, const Location& where) {
      if (Value value{name, where}; has_room(value, site)) list.push_back(std::move(value));
    };
    if (!given) {
      if (before.empty())
        for (const auto& input : site.inputs) append(input.name, input.where);
      else
        append(before, layer.where);
      return {list, layer.where};
    }
    const auto* texts = std::get_if<List>(&given->data);
    for (const Value& item : texts ? *texts : List{*given}) {
      if (room_.is_full()) break;
      const auto* text = std::get_if<std::string>(&item.data);
      if (!text)
        list.push_back(item); // the schema reports it
      else if (text->starts_with("@"))
        for (const auto& input : inputs(*text, item.where, site)) append(input.name, input.where);
      else
        append(is_local(*text, site) ? site.prefix + *text : *text, item.where);
    }
    return {list, given->where};
  }

  // "x", "x:1" and "x.inner" are local if the block has a layer x.
  static bool is_local(std::string_view text, const Site& site) {
    const std::string_view name = text.substr(0, text.find(':'));
    for (auto end = name.find('.');; end = name.find('.', end + 1)) {
      if (end != 0 && site.block->names.contains(name.substr(0, end))) return true;
      if (end == std::string_view::npos) return false;
    }
  }

  // Reports a full room once.
  bool has_room(const Value& added, const Site& site) {
    if (room_.take(added)) return true;
    if (!std::exchange(is_full_, true))
      problems_.add(site.used_at, "the text that blocks are filled in with is more than ", Room::most_bytes >> 20,
                    " MiB");
    return false;
  }

  std::vector<Input> inputs(const std::string& text, const Location& where, const Site& site) {
    if (text == "@in") {
      if (!site.inputs.empty()) return site.inputs;
      problems_.add(where, "src: \"@in\": this use of the block '", site.block->keys.name, "' has no src", in(site));
      return {};
    }
    std::size_t number = 0;
    const char *const first = text.data() + std::min<std::size_t>(4, text.size()), *const last =
                                                                                       text.data() + text.size();
    const bool is_number =
        text.starts_with("@in.") && std::from_chars(first, last, number).ptr == last && *first != '0';
    if (is_number && number >= 1 && number <= site.inputs.size()) return {site.inputs[number - 1]};
    problems_.add(where, "src: \"", text,
                  "\" is not allowed: a block reads \"@in\", all its inputs, or \"@in.1\" to \"@in.",
                  std::max<std::size_t>(site.inputs.size(), 1), "\"", in(site));
    return {};
  }

  static std::string in(const Site& site) {
    return site.open.empty() ? std::string() : concat(" (in the block used at ", to_string(site.used_at), ")");
  }

  Problems& problems_;
  std::map<std::string, Block, std::less<>> blocks_;
  bool all_named_ = true; // all blocks have their key: an unknown name is an error
  std::size_t instances_ = 0;
  Room room_;
  bool is_full_ = false; // and reported
  Layers result_;
};

} // namespace

Layers expand_blocks(Table& document, Problems& problems) { return Expander(problems).run(document); }

bool is_use_key(std::string_view key) {
  return block_use_schema().find(key) || std::ranges::find(handed_on, key) != std::end(handed_on);
}

} // namespace dlhost::config
