// Clips the gradients of one worker by the norm of all of them, where they lie: for handlers under which each
// contribution is an update of its own, so that no update is longer than the norm. Prepared once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "param/store/store.h"
#include "param/store/sums.h"
#include "param/table/table_memory.h"

namespace dlhost::param {

class Clip {
 public:
  // `memory`: of the worker, as `gradients` lays it out.
  static Result<std::unique_ptr<Clip>> prepare(Store&, const Gradients& gradients, std::span<std::byte> memory,
                                               double largest_norm);

  // All gradients are there. They are left as they are where their norm is not too large.
  Status run();
  // Of the gradients that run() saw last.
  std::optional<double> last_norm() const { return last_norm_; }

 private:
  Clip(Store& store, double largest_norm) : store_(store), largest_norm_(largest_norm) {}

  struct Part { // of a param
    void* gradient = nullptr;
    std::unique_ptr<Op> square, scale;
  };
  Store& store_;
  const double largest_norm_;
  std::optional<double> last_norm_;
  std::vector<Part> parts_;
  Sums sums_;
  Memory scratch_;
};

} // namespace dlhost::param
