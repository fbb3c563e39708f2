// Built without -fno-gnu-unique: the static member of a template becomes one object for the whole process.
#include "body.h"

template <class T> struct [[gnu::visibility("default")]] Shared { static int count; };
template <class T> int Shared<T>::count = 0;

namespace {
dlhost::Status init(dlhost::Host&) {
  ++Shared<int>::count;
  return {};
}
} // namespace

DLHOST_PLUGIN_WITH("1.0", init, nullptr, Bad);
