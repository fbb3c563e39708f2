// A process of this same program that does something that might crash or hang, and reports in lines over a pipe.
#pragma once

#include <string>
#include <vector>

#include <dlhost/host.h>

namespace dlhost::tools {

// Where a child writes its lines.
inline constexpr int child_output = 3;

class Child {
 public:
  // Runs this program with these arguments; its standard output is dropped, its standard error kept.
  static Result<Child> start(const std::vector<std::string>& arguments);
  Child(Child&&) noexcept;
  Child& operator=(Child&&) = delete;
  // Ends it if it still runs.
  ~Child();

  enum class Next { line, end, timeout };
  // Its next line, or that there is no more, or that nothing came for `limit`.
  Next next(std::string& line, Nanoseconds limit);
  // After the end: "ended by signal 11 (Segmentation fault)"; empty when it ended well. Ends it if it still runs.
  std::string wait();
  // What it wrote to its standard error so far.
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
