// Where the table's tensors lie in memory that several workers reach: the masters with their histories, which all
// share, each worker's gradients, and values of its own if it has some. All who know the net lay it out alike.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "param/store/store.h"

namespace dlhost::param {

// The next place for so many bytes: huge pages and vector units like what begins on a line of its own.
std::size_t take_lines(std::size_t& end, std::size_t bytes);

// The values and histories of a server group, and what it shares with other server groups: the values that all had at
// their last exchange, and the histories of these.
class Masters {
 public:
  // Of a store that is laid out.
  struct Copies {
    std::size_t values = 1;               // of each param, that can be there at once
    std::vector<std::size_t> values_of{}; // by param, where these differ; empty: they do not
    std::size_t histories = 1;            // of each
    std::size_t shared = 0;               // rows that are shared with other server groups
  };
  Masters(const Store&, const Copies&);
  Masters() = default; // of workers that have all params for themselves
  std::size_t bytes() const { return bytes_; }
  // `fills`: this one's store gives the first values.
  void lie_at(std::span<std::byte> memory, bool fills);

  std::span<std::byte> lend(const Param&, std::size_t which);
  const Copies& copies() const { return copies_; }
  std::size_t values(std::size_t param) const { return params_[param].values.size(); }
  std::span<std::byte> value(std::size_t param, std::size_t version) const;
  std::span<std::byte> history(std::size_t param, std::size_t slot, std::size_t copy = 0) const;
  std::span<std::byte> shared(std::size_t param, std::size_t row) const;
  bool fills() const { return fills_; }
  std::span<std::byte> memory() const { return memory_; } // all of it

 private:
  struct Places {
    std::size_t bytes = 0;                            // of each
    std::vector<std::size_t> values, history, shared; // history: copy by copy
    std::size_t slots = 0;
  };
  std::span<std::byte> at(const Places& places, std::size_t offset) const {
    return memory_.subspan(offset, places.bytes);
  }

  Copies copies_;
  std::vector<Places> params_;
  std::size_t bytes_ = 0;
  std::span<std::byte> memory_;
  bool fills_ = false;
};

// The gradients of one worker, as the masters lie, of the params that are updated; or the factors of some.
class Gradients {
 public:
  explicit Gradients(const Store&);
  Gradients() = default; // of workers that share none
  std::size_t bytes() const { return bytes_; }
  // Elements of each master as it lies; 0: it is not updated.
  std::span<const std::int64_t> elements() const { return elements_; }
  // Of these, how many belong together.
  std::span<const std::int64_t> pieces() const { return pieces_; }
  std::size_t offset(std::size_t param) const { return offsets_[param]; }

 private:
  std::vector<std::int64_t> elements_, pieces_;
  std::vector<std::size_t> offsets_;
  std::size_t bytes_ = 0;
};

// The values and histories of a worker that has some of its own, of the params that are updated.
class ReplicaPlaces {
 public:
  // Behind `begin` bytes. `accrues`: beside them are sums of gradients.
  ReplicaPlaces(const Store&, std::size_t begin, bool accrues);
  std::size_t end() const { return end_; }
  struct Places {
    std::size_t bytes = 0; // of each
    std::size_t value = 0;
    std::vector<std::size_t> history;
    std::optional<std::size_t> accrued;
  };
  const Places& of(std::size_t param) const { return params_[param]; }

 private:
  std::vector<Places> params_;
  std::size_t end_;
};

} // namespace dlhost::param
