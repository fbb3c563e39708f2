// Devices of ref that sum among themselves: through memory that their processes map, piece by piece, each rank's beside
// the others', which everyone adds in the order of ranks. Work that is asked for is done in ready(), as far as the
// others have come: so a rank never stands still for another.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dlhost/peers.h>

#include "memory.h"

namespace dlhost::plugins::ref {

// A file in memory, which others of this machine find by the process that has it open, and know by what is written into
// it; gone when nobody has it.
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
  struct Slot { // of a rank; a piece is written over the last but one, which everyone has read by then
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
  std::vector<Row> rows_;  // that are not summed
  std::int64_t begin_ = 0; // of the first, the piece that is next
  std::uint64_t done_ = 0; // pieces
  bool written_ = false;   // this rank's of that piece
};

} // namespace dlhost::plugins::ref
