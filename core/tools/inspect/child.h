// A child process of this program for work that may crash or hang; it reports in lines over a pipe.
#pragma once

#include <string>
#include <vector>

#include <dlhost/host.h>

namespace dlhost::tools {

// The descriptor to which the child writes its lines.
inline constexpr int child_output = 3;

class Child {
 public:
  // Runs this program with these arguments. Its standard output is dropped, its standard error kept.
  static Result<Child> start(const std::vector<std::string>& arguments);
  Child(Child&&) noexcept;
  Child& operator=(Child&&) = delete;
  // Kills the child if it still runs.
  ~Child();

  enum class Next { line, end, timeout };
  // Reads the child's next line. Returns `end` after the last, and `timeout` if nothing came for `limit`.
  Next next(std::string& line, Nanoseconds limit);
  // Call after the end. "ended by signal 11 (Segmentation fault)"; empty: exit status 0. Kills the child if it still
  // runs.
  std::string wait();
  // The child's standard error so far.
  const std::string& errors() const { return errors_; }

 private:
  Child() = default;
  int process_ = -1;
  int output_ = -1;
  int error_ = -1;
  bool ended_ = false;
  std::string pending_;
  std::string errors_;
};

} // namespace dlhost::tools
