// Work that a stream was given and has not started: calls of ops, zeros and copies within the device, with a copy of
// their arguments. Reuse allocates nothing.
//
// Two lists are compared in two ways. The work is which ops run in which order on which memory; the changing values are
// the rest of Dynamic, which may differ in each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "work.h"

namespace dlhost::plugins::cuda {

class HeldCalls {
 public:
  void add(KernelOp&, const Call&);
  void add_move(void* to, const void* from, std::size_t bytes); // from null: zeros
  void clear();

  bool empty() const { return calls_.empty(); }
  std::size_t size() const { return calls_.size(); }
  bool same_work(const HeldCalls&) const;
  // Compares call `which` of two lists with the same work. Sample numbers are left out: they are read from memory.
  bool same_changing(const HeldCalls&, std::size_t which) const;

  // The sample numbers of all calls, one after the other; stored once for equal neighbours.
  std::span<const std::uint32_t> samples() const { return samples_; }
  // Runs call `which`, reading its sample numbers from such a row.
  void run(WorkStream&, std::size_t which, const std::uint32_t* samples) const;
  const Op* last_op() const; // null: only zeros and copies

 private:
  struct Work {
    std::uint64_t number = 0; // of the op; 0: a move
    std::byte* scratch = nullptr;
    std::size_t bytes = 0; // of a move
    std::size_t in = 0, out = 0, scalars = 0, samples = 0;
    std::size_t sample = 0; // offset of its first
    bool operator==(const Work&) const = default;
  };
  struct Held {
    Work work;
    KernelOp* op = nullptr;
    std::size_t pointer = 0, scalar = 0; // offsets of its first
    DrawKey key;
    std::uint32_t epoch = 0;
    std::int64_t valid = -1;
  };
  void put(const Held&);
  std::size_t place_of(std::span<const std::uint32_t> samples);
  void mix(std::uint64_t);
  std::span<const float> scalars(const Held&) const;

  std::vector<Held> calls_;
  std::vector<void*> pointers_; // for each call its inputs, then its outputs
  std::vector<float> scalars_;
  std::vector<std::uint32_t> samples_;
  std::uint64_t hash_ = 0; // of the work
};

} // namespace dlhost::plugins::cuda
