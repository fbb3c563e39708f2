// What the fault handlers say. Everything here may be called inside a signal handler: no allocation, no locks, no
// library state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugin/activity.h"

namespace dlhost::plugin {

// One line on its way to the terminal; what cannot be shown is escaped, what does not fit is cut.
class FaultLine {
 public:
  FaultLine() { *this << mark_; }
  FaultLine& operator<<(std::string_view);
  FaultLine& operator<<(std::uint64_t);
  FaultLine& hex(std::uint64_t);
  // Ends the line and writes it to standard error.
  void write();
  // What was put into it.
  std::string_view text() const { return std::string_view(text_, size_).substr(mark_.size()); }

 private:
  static constexpr std::string_view mark_ = "dlhost: ";
  char text_[2048];
  std::size_t size_ = 0;
};

// "plugin 'cube' (/path/cube.so)"; "dlhost's own 'x'" for what is no plugin.
void put_plugin(FaultLine&, const Actor&);
// "layer 'cube1', compute_feature, step 12"
void put_place(FaultLine&, const Actor&, const char* phase, std::uint64_t step);

// What a thread is doing: its slot that was claimed last. actor is null when it is in no plugin.
Doing doing_of_thread(int thread);
// A line for each other task that is inside a plugin.
void write_others(int except_thread);

// The line about the newest checkpoint.
void write_checkpoint(const char* path);

} // namespace dlhost::plugin
