// Loads one plugin file that search found usable: checks its symbols, opens it with Boost.DLL, reads its descriptor and
// runs its init. A plugin's errors become a Status that names it. Floating-point state and signal handlers that its
// start-up code changed are restored.
//
// A library stays loaded until the process ends, even after its Library is destroyed: other code may refer to a
// plugin's code, type information and static objects.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/dll/shared_library.hpp>

#include <dlhost/host.h>
#include <dlhost/plugin.h>

#include "plugin/activity.h"
#include "plugin/search.h"

namespace dlhost::plugin {

inline constexpr Nanoseconds load_limit = 5'000'000'000;

class Library {
 public:
  enum class Init { run, skip }; // skip: for inspection only

  // Requires: `candidate` is usable. Thread: one at a time. Start-up code and init have `limit` each; after it the
  // process ends and names the plugin, because code that hangs cannot be interrupted.
  static Result<std::unique_ptr<Library>> load(const Candidate& candidate, Host& host, Nanoseconds limit = load_limit,
                                               Init = Init::run);
  // Runs fini within load_limit. Requires: all its products are destroyed. The code stays loaded.
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }
  std::span<const Factory> factories() const { return descriptor_->factories; }
  // Null: the library does not make this product.
  const Factory* find(const Product&) const;

  // The schema (within `limit`, as above) or a product of one of its factories. Exceptions become a Status.
  Result<Schema> schema(const Factory&, Nanoseconds limit = load_limit) const;
  Result<std::unique_ptr<Plugin>> make(const Factory&, const Table& options) const;
  // The actor by which the fault handler names an instance.
  const Actor* actor(const Factory&, std::string_view instance) const;

 private:
  Library(std::string path, std::string name) : path_(std::move(path)), name_(std::move(name)) {}
  Status open();
  Status check(const FileStamp&) const;
  Status init(Host&);
  template <class Call> Status guarded(const Factory&, const char* phase, Call) const;

  std::string path_;
  std::string name_;
  boost::dll::shared_library file_;
  const Descriptor* descriptor_ = nullptr;
  bool initialised_ = false;
};

// "plugin 'cube' (/path/cube.so)", as messages name a plugin.
std::string described(const Candidate&);

} // namespace dlhost::plugin
