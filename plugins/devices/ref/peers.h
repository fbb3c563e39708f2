// Sums among ref devices through memory that their processes map, in pieces: each rank writes its own slot, and every
// rank adds the slots in the order of ranks. ready() does the work as far as the other ranks have come, so no rank
// blocks on another.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dlhost/partition.h>

#include "memory.h"

namespace dlhost::plugins::ref {

// A file in memory. Other processes of this machine open it through /proc of the process that made it, and check its
// token. It is freed with its last user.
class Convened {
 public:
  static Result<std::unique_ptr<Convened>> make();
  ~Convened();
  Convened(const Convened&) = delete;
  Convened& operator=(const Convened&) = delete;
  const std::string& name() const { return name_; }

 private:
  Convened(int file, std::string name) : file_(file), name_(std::move(name)) {}
  int file_;
  std::string name_;
};

class RefPeers final : public Peers {
 public:
  static Result<std::unique_ptr<Peers>> join(const Pool&, const std::string& convened, int rank, int count);
  ~RefPeers() override;

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  void sum(Stream& stream, void* values, std::int64_t count) override { add(stream, values, count, false); }
  void maximum(Stream& stream, void* values, std::int64_t count) override { add(stream, values, count, true); }
  Result<bool> ready() override;
  void abandon() noexcept override { abandoned_ = true; }

 private:
  friend class Convened;
  static constexpr std::int64_t piece = 16384;
  static constexpr int most = 256; // ranks
  struct Slot { // of a rank; a piece overwrites the one before the last, which every rank has read by then
    std::atomic<std::uint64_t> written;
    float values[2][piece];
  };
  struct Shared {
    std::uint64_t token; // of the file
    std::atomic<std::uint32_t> came;
  };
  struct Row {
    float* values;
    std::int64_t count;
    bool maximum;
  };

  RefPeers(const Pool& pool, std::span<std::byte> memory, int rank, int count)
      : pool_(pool), memory_(memory), rank_(rank), count_(count) {}
  void add(Stream&, void* values, std::int64_t count, bool maximum);
  Slot& slot(int rank) const;
  Shared& shared() const;
  static std::size_t bytes(int count);

  const Pool& pool_;
  std::span<std::byte> memory_;
  int rank_, count_;
  bool abandoned_ = false;
  Status first_;
  std::vector<Row> rows_;  // not summed yet
  std::int64_t begin_ = 0; // the next piece, in the first row
  std::uint64_t done_ = 0; // pieces
  bool written_ = false;   // this rank's part of the next piece
};

} // namespace dlhost::plugins::ref
