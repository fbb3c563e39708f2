// While an IgnoreDataRaces(true) lives, ThreadSanitizer ignores the writes of its thread: hogwild writes what others
// read, on purpose. All other checks stay on.
#pragma once

#ifdef DLHOST_THREAD_SANITIZER
extern "C" void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char* file, int line);
#else
inline void AnnotateIgnoreWritesBegin(const char*, int) {}
inline void AnnotateIgnoreWritesEnd(const char*, int) {}
#endif

namespace dlhost::param {

class IgnoreDataRaces {
 public:
  explicit IgnoreDataRaces(bool races) : races_(races) {
    if (races_) AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~IgnoreDataRaces() {
    if (races_) AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  }
  IgnoreDataRaces(const IgnoreDataRaces&) = delete;
  IgnoreDataRaces& operator=(const IgnoreDataRaces&) = delete;

 private:
  const bool races_;
};

} // namespace dlhost::param
