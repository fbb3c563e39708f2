// How a program shares its params with other workers' programs. A single worker's program updates the params itself.
#pragma once

#include <optional>

#include "param/file/checkpoint.h"
#include "param/store/store.h"

namespace dlhost::param {

class Table;

// What sharing changes in a program, known before anything is made.
class SharedLayout {
 public:
  virtual ~SharedLayout() = default;
  // Bytes for a store that is laid out: of this worker, of all workers together, and the worker's own part of a
  // checkpoint in plain f32.
  struct Bytes {
    std::size_t own = 0, common = 0, saved = 0;
    std::size_t summed = 0; // buffers in which servers decode or fold, all together
  };
  virtual Bytes bytes(const Store&) const = 0;
  // The factors that workers send in place of the gradient, for a param whose gradient in this program is the product
  // of `own`: with as many rows as any worker has. Empty: workers send the gradient.
  virtual std::optional<Factors> factors(const Param&, const Factors& own, const Pieces&) const = 0;
};

class SharedParams : public SharedLayout {
 public:
  // Takes its memory and lends the common part to the store. Requires: the store is laid out, and nothing is allocated.
  virtual Status open(Store&) = 0;
  // The memory into which the program writes the gradient of a param, or its factors.
  virtual std::span<std::byte> contribution(const Param&) = 0;
  // The worker's client of the table. Requires: the workers are connected.
  virtual Table& table() = 0;
  // The norm of all gradients in the newest update known to this worker; empty: norms are not computed.
  virtual std::optional<double> gradient_norm() const = 0;
  // Gives a sign of life to the other workers.
  virtual void beat() = 0;
  // Each worker's own tensors, which a resumed run needs; empty if the servers have all. Requires: no worker computes.
  virtual std::vector<std::vector<TensorPlace>> own_values() = 0;
  // The params of each other server group that is not lost, for groups whose servers are all on the leader's machine.
  // Requires: no worker computes; called by the run's leader.
  virtual std::vector<std::vector<TensorPlace>> values_elsewhere() = 0;
};

} // namespace dlhost::param
