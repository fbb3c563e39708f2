// All plugins of this process, by kind and name. Searches once, when made. Loads a file when a product of it is first
// asked for: `run` loads only what its job names.
//
// Thread: any; a call may load a library and takes that long. Factories and schemas stay valid as long as the registry;
// products must be destroyed before it.
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
  // `limit`: the time for each of a plugin's start-up code, init and schema.
  Registry(std::span<const SearchEntry>, Host&, Nanoseconds limit = load_limit);
  // Runs the fini of every loaded plugin, in reverse order of loading.
  ~Registry() override;

  // Errors: the name is unknown (lists known names and the nearest), broken, or provided twice by one folder.
  Result<const Factory*> factory(Kind, std::string_view name);
  // The schema of a product; errors as above.
  Result<const Schema*> schema(Kind, std::string_view name);
  // Makes a product. Requires: the table was checked against its schema. Exceptions become a Status.
  Result<std::unique_ptr<Plugin>> make(Kind, std::string_view name, const Table& options);

  template <class T> Result<std::unique_ptr<T>> create(std::string_view name, const Table& options) {
    DLHOST_ASSIGN(auto product, make(T::kind, name, options));
    T* object = dynamic_cast<T*>(product.get());
    if (!object) return Status::internal(name_of(T::kind), " '", name, "' has the class of another kind");
    (void)product.release();
    return std::unique_ptr<T>(object);
  }

  // The actor by which the fault handler names an instance; made once, when the instance is prepared.
  Result<const Actor*> actor(Kind, std::string_view name, std::string_view instance);

  // SchemaSource: null also for a broken plugin; why_not() has the reason.
  const Schema* find(Kind, std::string_view name) override;
  // The available names, sorted.
  std::vector<std::string> names(Kind) override;
  std::string why_not(Kind kind, std::string_view name) override { return schema(kind, name).status().message(); }

  // The loaded files, sorted by name.
  struct Build {
    std::string name, version, digest;
  };
  std::vector<Build> builds();

  const Catalogue& catalogue() const { return catalogue_; }
  // The file that provides a name, with its overridden and broken rivals; for inspect and manifests.
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
  std::vector<Library*> order_;                               // in the order of loading
  std::map<const Library*, std::string> digests_;             // filled on demand
  std::map<std::string, Status> failed_;                      // by path; each file is tried once
  std::map<Product, Loaded> asked_for_;
  std::map<const Factory*, Schema> schemas_;
};

} // namespace dlhost::plugin
