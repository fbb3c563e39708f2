// Sums that the servers of one group send one another before they make a version: for the norm of all gradients, if the
// updater clips by it, and the updater's own over a param that is cut into slices of several servers.
//
// Thread: the server's. Allocates nothing after construction. Messages are untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "param/exchange/agreed_sums.h"
#include "param/server/send.h"
#include "param/table/slices.h"

namespace dlhost::param {

// The norm of all gradients of a version of all slices. A server sends its sum of squares once the gradients of all its
// slices are due.
class GradientNorm {
 public:
  struct Setup {
    std::uint32_t server = 0;         // this one's number in its group
    std::span<const Slice> slices;    // of all servers; this one owns some
    std::vector<std::uint32_t> seats; // of the group's servers
    double largest = 0;               // gradients with a larger norm are scaled down to it
    const Send* send = nullptr;
  };
  explicit GradientNorm(Setup);

  void begin(Version version) { sums_.begin(version); }
  // The gradient of one of this server's slices is due, and this is its sum of squares. `which`: the index of the slice
  // among the owned ones.
  Status add(std::size_t which, double square);
  // Errors: corrupt if the norm is not expected.
  Status take(std::uint32_t from, const to_server::Norm&);
  bool is_whole() const { return sums_.whole(); }
  // Goes on to the next version. Returns the factor on all gradients of this one. Requires: is_whole().
  float take_factor();

  // Of the newest version. None: there is no version yet.
  std::optional<double> last() const { return last_; }
  // True if this server waits for the norms of others, rather than for contributions.
  bool is_sent() const { return due_ == squares_.size(); }
  bool is_begun() const { return due_ > 0; } // the gradient of a slice is due
  // The seat of the first server whose norm is missing. Requires: not is_whole().
  std::uint32_t first_missing() const { return setup_.seats[peers_[sums_.first_missing()]]; }

 private:
  const Setup setup_;
  const std::vector<std::uint32_t> peers_; // all servers that own slices, with this one
  AgreedSums sums_;
  std::vector<double> squares_; // by index of the slice among the owned ones
  std::size_t due_ = 0;         // slices of this server whose gradients are due
  std::optional<double> last_;
};

// The updater's sums over one param that is cut. Each of its servers sends the sums over its slice to the others.
class ParamSums {
 public:
  struct Setup {
    const Slice* slice = nullptr;     // this server's
    std::span<const Slice> pieces;    // all slices of the param
    std::vector<std::uint32_t> seats; // of the group's servers
    std::size_t sums = 1;             // of the updater
    const Send* send = nullptr;
  };
  explicit ParamSums(Setup setup) : setup_(std::move(setup)), sums_(setup_.pieces.size(), setup_.sums) {}

  void begin(Version version) { sums_.begin(version); }
  // Sends the sums over this server's slice.
  Status say(std::span<const double> partials);
  // Errors: corrupt if the sum is not expected.
  Status take(std::uint32_t from, const to_server::Sum&);
  bool is_whole() const { return sums_.whole(); }
  // Goes on to the next version. Returns the sums over the param. Requires: is_whole().
  std::span<const double> take_sums() { return sums_.take(); }
  // The seat of the first server whose sums are missing. Requires: not is_whole().
  std::uint32_t first_missing() const { return setup_.seats[setup_.pieces[sums_.first_missing()].server]; }

 private:
  const Setup setup_;
  AgreedSums sums_;
};

} // namespace dlhost::param
