// Every plugin that this process can use, by kind and name. It searches once, when made, and loads a file when
// something in it is first asked for: `run` loads only what its job names.
//
// All of it may be called from any task; a call may load a library and then takes as long as that. Factories and
// schemas stay valid as long as the registry; products must be gone before it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/plugin.h>
#include <dlhost/schema.h>

#include "plugin/activity.h"
#include "plugin/load.h"
#include "plugin/search.h"

namespace dlhost::plugin {

class Registry final : public SchemaSource {
 public:
  // `limit` is for each of a plugin's start-up code, init and schema.
  Registry(std::span<const SearchEntry>, Host&, Nanoseconds limit = load_limit);
  // Runs the fini of every loaded plugin, last loaded first.
  ~Registry() override;

  // Not ok: unknown (lists the known names and the nearest), broken, or provided twice by one folder.
  Result<const Factory*> factory(Kind, std::string_view name);
  // The same for its schema.
  Result<const Schema*> schema(Kind, std::string_view name);
  // A product made from a table that was checked against its schema. An exception becomes a Status.
  Result<std::unique_ptr<Plugin>> make(Kind, std::string_view name, const Table& options);

  template <class T> Result<std::unique_ptr<T>> create(std::string_view name, const Table& options) {
    DLHOST_ASSIGN(auto product, make(T::kind, name, options));
    T* object = dynamic_cast<T*>(product.get());
    if (!object) return Status::internal(name_of(T::kind), " '", name, "' is of another class than its kind says");
    (void)product.release();
    return std::unique_ptr<T>(object);
  }

  // How the fault handler is to name an instance of it; made once, when the instance is prepared.
  Result<const Actor*> actor(Kind, std::string_view name, std::string_view instance);

  // SchemaSource: null also for what is there but broken; why_not() has the reason.
  const Schema* find(Kind, std::string_view name) override;
  // What can be asked for, sorted.
  std::vector<std::string> names(Kind) override;
  std::string why_not(Kind kind, std::string_view name) override { return schema(kind, name).status().message(); }

  // The files that were loaded, by name.
  struct Build {
    std::string name, version, digest;
  };
  std::vector<Build> builds();

  const Catalogue& catalogue() const { return catalogue_; }
  // The file that a name comes from and everything it overrides or is broken by; for inspect and for manifests.
  Result<const Candidate*> candidate(Kind, std::string_view name) const;

 private:
  struct Loaded {
    const Factory* factory;
    const Library* library;
  };

  void report_search();
  Result<Loaded> loaded(Kind, std::string_view name);
  Status unknown(Kind, std::string_view name) const;
  const std::string& digest_of(const Library&);
  std::vector<std::string> known(Kind) const;
  Result<Library*> library(const Candidate&);

  Host& host_;
  Nanoseconds limit_;
  Catalogue catalogue_;
  std::recursive_mutex loading_;                              // init may ask for another plugin
  std::map<std::string, std::unique_ptr<Library>> libraries_; // by path
  std::vector<Library*> order_;                               // as loaded
  std::map<const Library*, std::string> digests_;             // as asked for
  std::map<std::string, Status> failed_;                      // by path; a file is tried once
  std::map<Product, Loaded> asked_for_;
  std::map<const Factory*, Schema> schemas_;
};

} // namespace dlhost::plugin
