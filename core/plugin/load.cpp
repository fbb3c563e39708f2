#include "plugin/load.h"

#include <algorithm>
#include <exception>
#include <optional>

#include <boost/core/demangle.hpp>
#include <dlfcn.h>

#include <dlhost/host.h>

#include "plugin/code.h"
#include "plugin/contained.h"
#include "plugin/elf.h"
#include "plugin/faults.h"
#include "plugin/float_state.h"
#include "plugin/mapped.h"
#include "plugin/signal_handlers.h"

namespace dlhost::plugin {

namespace {

// The loader's error text, with a missing symbol demangled and the remedy.
std::string remedied(std::string words) {
  constexpr std::string_view missing = "undefined symbol: ";
  const auto at = words.find(missing);
  if (at == std::string::npos) return words;
  const auto begin = at + missing.size();
  const auto end = std::min(words.find_first_of(" ,\t(", begin), words.size());
  const auto symbol = words.substr(begin, end - begin);
  const auto plain = boost::core::demangle(symbol.c_str());
  return concat(words, plain == symbol ? "" : concat(" (", plain, ")"),
                ": link the library that has it, or build the plugin again if it is dlhost's; -Wl,-z,defs reports it "
                "at link time");
}

std::string loader_words() {
  const char* words = dlerror();
  return words ? words : "";
}

} // namespace

std::string described(const Candidate& candidate) {
  return concat("plugin '", candidate.stamp ? candidate.stamp->name : "?", "' (", candidate.path, ")");
}

Status Library::open() {
  constexpr auto mode = boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local;
  boost::dll::fs::error_code error;
  loader_words(); // forgets an older error
  try {
    file_.load(path_, error, mode);
  } catch (...) {
    std::terminate(); // a static object threw through the loader, which cannot go on; the handler names the plugin
  }
  if (error) {
    std::string words = loader_words();
    // Boost's own calls after the failure may have cleared the text: ask the loader once more.
    if (words.empty() && !dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) words = loader_words();
    return Status::invalid("cannot be loaded: ", remedied(words.empty() ? error.message() : words));
  }
  // From here on, closing does not unload the file.
  if (!dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE))
    return Status::internal("cannot be kept loaded: ", loader_words());
  const std::string alias(alias_name);
  if (!file_.has(alias)) return Status::invalid("has no alias '", alias, "': DLHOST_PLUGIN is missing in its sources");
  descriptor_ = &file_.get_alias<const Descriptor>(alias);
  return {};
}

Status Library::check(const FileStamp& stamp) const {
  if (descriptor_->size < sizeof(Descriptor))
    return Status::invalid("its descriptor is too small (", descriptor_->size, " bytes, not ", sizeof(Descriptor),
                           "): build it again with this dlhost's headers");
  for (const auto& product : stamp.provides)
    if (!find(product))
      return Status::invalid("its stamp promises the ", name_of(product.kind), " '", product.name,
                             "', but its descriptor lacks it: build it again");
  return {};
}

Status Library::init(Host& host) {
  try {
    if (descriptor_->init) DLHOST_TRY(shown(descriptor_->init(host)).at("init failed"));
  } catch (...) {
    return Status::internal("init threw an exception: ", text_of_exception());
  }
  initialised_ = true;
  return {};
}

Result<std::unique_ptr<Library>> Library::load(const Candidate& candidate, Host& host, Nanoseconds limit, Init how) {
  const std::string who = described(candidate);
  {
    DLHOST_ASSIGN(const MappedFile file, MappedFile::open(candidate.path));
    const Verdict verdict = judge_symbols(file.bytes(), this_host());
    if (!verdict.problems.empty()) return Status::invalid(who, ": ", joined(verdict.problems));
  }
  for (const auto& warning : candidate.warnings) host.log().write(LogLevel::warning, concat(who, ": ", warning));
  std::unique_ptr<Library> library(new Library(candidate.path, candidate.stamp->name));
  const Actor* actor = remember("", "", library->name_, library->path_);
  Activity activity;
  const FloatState state;
  const SignalHandlers handlers;
  Status status;
  {
    const Deadline deadline(actor, "loading", limit);
    activity.enter(actor, "loading");
    begin_loading(actor);
    status = library->open();
    end_loading();
  }
  if (status.ok()) status = library->check(*candidate.stamp);
  if (status.ok() && how == Init::run) {
    const Deadline deadline(actor, "init", limit);
    activity.enter(actor, "init");
    status = library->init(host);
  }
  activity.leave();
  if (state.restore())
    host.log().write(LogLevel::warning,
                     concat(who, ": loading it changed how this process computes with floating-point numbers, mostly "
                                 "because it was linked with -ffast-math; that was undone: link it without"));
  if (handlers.restore())
    host.log().write(LogLevel::debug,
                     concat(who, ": loading it, or a library that it links, changed signal handlers; that was undone"));
  if (!status.ok()) return std::move(status).at(who);
  return library;
}

// An exception of fini ends the process, and the plugin is named.
Library::~Library() {
  if (!initialised_ || !descriptor_->fini) return;
  const Actor* actor = remember("", "", name_, path_);
  const Deadline deadline(actor, "fini", load_limit);
  Activity activity;
  activity.enter(actor, "fini");
  descriptor_->fini();
}

const Factory* Library::find(const Product& product) const {
  for (const auto& factory : descriptor_->factories)
    if (factory.kind == product.kind && factory.name == product.name) return &factory;
  return nullptr;
}

// Runs the plugin's code: a crash is named, an exception becomes a Status.
template <class Call> Status Library::guarded(const Factory& factory, const char* phase, Call call) const {
  Activity activity;
  activity.enter(actor(factory, factory.name), phase);
  const auto failed = [&](std::string_view why) {
    return Status::internal("plugin '", name_, "' (", path_, "): ", phase, " of the ", name_of(factory.kind), " '",
                            factory.name, "' ", why);
  };
  try {
    return call() ? Status() : failed("made nothing");
  } catch (...) {
    return failed(concat("threw an exception: ", text_of_exception()));
  }
}

Result<Schema> Library::schema(const Factory& factory, Nanoseconds limit) const {
  std::optional<Schema> schema;
  const Deadline deadline(actor(factory, factory.name), "schema", limit);
  DLHOST_TRY(guarded(factory, "schema", [&] { return schema.emplace(factory.schema()), true; }));
  return *std::move(schema);
}

Result<std::unique_ptr<Plugin>> Library::make(const Factory& factory, const Table& options) const {
  std::unique_ptr<Plugin> product;
  DLHOST_TRY(guarded(factory, "construction", [&] { return (product = factory.create(options)) != nullptr; }));
  return product;
}

const Actor* Library::actor(const Factory& factory, std::string_view instance) const {
  return remember(name_of(factory.kind), instance, name_, path_);
}

} // namespace dlhost::plugin
