// An optional library: opened on first use, for the life of the process.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include <dlfcn.h>

#include <dlhost/status.h>

namespace dlhost::plugins::cuda {

class Opened {
 public:
  // `wanted`: its purpose, for the error message.
  Opened(std::string name, const char* wanted)
      : name_(std::move(name)), library_(dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_) return;
    const char* why = dlerror();
    status_ = Status::unsupported(wanted, ": ", why ? why : name_.c_str());
  }
  template <class Call> void find(Call& call, const char* symbol) {
    if (!library_) return;
    call = reinterpret_cast<Call>(dlsym(library_, symbol));
    if (!call && status_.ok()) status_ = Status::unsupported(name_, " has no ", symbol);
  }
  // Errors: missing, or another version.
  const Status& status() const { return status_; }

 private:
  std::string name_;
  void* library_;
  Status status_;
};

} // namespace dlhost::plugins::cuda
