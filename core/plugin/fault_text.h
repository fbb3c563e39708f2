// The lines of the fault handlers. Everything here is async-signal-safe: no allocation, no locks, no library state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugin/activity.h"

namespace dlhost::plugin {

// One line for standard error. Unprintable bytes are escaped; a line that is too long is cut.
class FaultLine {
 public:
  FaultLine() { *this << mark_; }
  FaultLine& operator<<(std::string_view);
  FaultLine& operator<<(std::uint64_t);
  FaultLine& hex(std::uint64_t);
  // Ends the line and writes it to standard error.
  void write();
  // The text without the mark "dlhost: ".
  std::string_view text() const { return std::string_view(text_, size_).substr(mark_.size()); }

 private:
  static constexpr std::string_view mark_ = "dlhost: ";
  char text_[2048];
  std::size_t size_ = 0;
};

// "plugin 'cube' (/path/cube.so)"; "dlhost's own 'x'" for an actor without a file.
void put_plugin(FaultLine&, const Actor&);
// "layer 'cube1', compute_feature, step 12"
void put_place(FaultLine&, const Actor&, const char* phase, std::uint64_t step);
// "; loaded are: " and all loaded plugins.
void put_loaded(FaultLine&);

// Reads the thread's slot that was claimed last. actor is null: in no plugin.
Doing doing_of_thread(int thread);
// Writes a line for each other task that is inside a plugin.
void write_others(int except_thread);

// Writes the line about the newest checkpoint. Null: nothing is known of checkpoints, and no line is written.
void write_checkpoint(const char* path);

} // namespace dlhost::plugin
