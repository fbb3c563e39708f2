// Computes a map's elements by a compiled kernel if there is a compiler; else its steps are interpreted. Needs no CUDA
// headers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <dlhost/status.h>

#include "work.h"

namespace dlhost::plugins::cuda {

// The text of a kernel, and the contents of its one parameter. Pieces are the slices of an update: each has `inputs`
// and `outputs` pointers.
struct ElementSource {
  std::string text;
  std::size_t inputs = 0, outputs = 0, scalars = 0, pieces = 1;
  std::size_t alignment = 1; // of all pointers, for reading several elements together
  int together = 4;          // elements of a thread

  static constexpr int threads = 256;
  static constexpr const char* kernel = "map_elements";
};

struct ElementRun {
  std::span<const void* const> from; // piece by piece
  std::span<void* const> to;
  std::span<const std::int64_t> start; // items before each piece, and the total
  std::span<const float> scalars;
};

// The kernel's parameter as bytes, in the order of `Arguments` in the text.
class ElementArguments {
 public:
  explicit ElementArguments(const ElementSource&);
  // Returns the number of blocks. Requires: at most source.pieces pieces.
  std::int64_t fill(const ElementRun&);
  void* data() { return bytes_.get(); }
  std::size_t size() const { return size_; }

 private:
  std::int64_t of_a_block_;
  std::size_t alignment_, pieces_, to_, start_, first_block_, counts_, scalars_, size_;
  std::unique_ptr<std::byte[]> bytes_;
};

class ElementKernel {
 public:
  virtual ~ElementKernel() = default;
  virtual void launch(WorkStream&, const ElementRun&) = 0;
};

class ElementCompiler {
 public:
  virtual ~ElementCompiler() = default;
  virtual Result<std::unique_ptr<ElementKernel>> compile(const ElementSource&) = 0;
};

} // namespace dlhost::plugins::cuda
