// Loads one plugin file that search found usable: looks at its symbols, opens it with Boost.DLL, takes its descriptor
// and runs its init. What a plugin may do wrong here ends as a Status that names it; floating-point state and handlers
// of signals that its start-up code changed are put back.
//
// A library stays loaded until the process ends, whatever is destroyed: code, type information and static objects of a
// plugin may be referred to from anywhere.
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
  enum class Init { run, skip }; // skip: only to look at it

  // `candidate` is usable. Call it from one task at a time. Start-up code and init may each take `limit`; then the
  // process is ended, naming the plugin: nothing else helps against code that does not come back.
  static Result<std::unique_ptr<Library>> load(const Candidate& candidate, Host& host, Nanoseconds limit = load_limit,
                                               Init = Init::run);
  // Runs fini, which has load_limit; every product must be gone. The code stays.
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }
  std::span<const Factory> factories() const { return descriptor_->factories; }
  // Null when it does not make it.
  const Factory* find(const Product&) const;

  // Of one of its factories: the schema, within `limit` as above, and a product. Exceptions become a Status.
  Result<Schema> schema(const Factory&, Nanoseconds limit = load_limit) const;
  Result<std::unique_ptr<Plugin>> make(const Factory&, const Table& options) const;
  // How the fault handler names an instance.
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

// "plugin 'cube' (/path/cube.so)": how messages name a plugin.
std::string described(const Candidate&);

} // namespace dlhost::plugin
