// A one-way ring between one writer and one reader, in memory that both have mapped. It has no lock: if a side dies,
// the ring stays valid, and an unfinished part is never seen.
//
// A message goes in parts, each with its own cell. Part n is in cell n mod cells and is complete when the cell's turn
// is n + 1. Small parts are in the cell itself: two cache lines, the first of which the reader polls. Larger parts use
// the next block; both sides count blocks. There are many cells, so that a reader that has waited for a core finds many
// messages, and few blocks, so that they stay in the caches. The reader reports its finished parts when a quarter of
// the cells or blocks is free again, or when the ring is empty.
//
// `Memory` has the shared word and the copy; tests use one that interleaves the two sides in every order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <vector>

namespace dlhost::plugins::shm {

struct RealMemory {
  using Word = std::atomic<std::uint64_t>;
  static void copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
};

struct RingShape {
  std::uint32_t cells = 512;
  std::uint32_t blocks = 32;
  std::uint32_t block = 16384; // bytes of a block
};

inline constexpr std::size_t in_cell = 96;

// A part's description of itself; the reader verifies it.
struct PartHead {
  std::uint64_t tag = 0;
  std::uint64_t total = 0; // bytes of the whole message
  std::uint32_t size = 0;  // bytes of this part
  std::uint32_t last = 0;
};

template <class Memory> struct alignas(64) Cell {
  typename Memory::Word turn{0};
  PartHead head;
  std::byte small[in_cell];
};

template <class Memory> struct RingMemory {
  struct alignas(64) Head {
    typename Memory::Word taken{0}; // parts that the reader has finished
  };
  static std::size_t bytes(const RingShape& shape) {
    return sizeof(Head) + shape.cells * sizeof(Cell<Memory>) + shape.blocks * std::size_t{shape.block};
  }
  // Initialises fresh memory. Call before the other side sees it.
  static void make(void* memory, const RingShape& shape) {
    auto* head = new (memory) Head;
    auto* cells = reinterpret_cast<Cell<Memory>*>(head + 1);
    for (std::uint32_t i = 0; i < shape.cells; ++i) new (cells + i) Cell<Memory>;
  }

  RingMemory() = default;
  RingMemory(void* memory, const RingShape& of)
      : shape(of), head(static_cast<Head*>(memory)), cells(reinterpret_cast<Cell<Memory>*>(head + 1)),
        blocks(reinterpret_cast<std::byte*>(cells + of.cells)) {}

  Cell<Memory>& cell(std::uint64_t part) const { return cells[part % shape.cells]; }
  // `used`: blocks used by earlier parts.
  std::byte* place(std::uint64_t part, std::uint64_t used, std::size_t size) const {
    return size <= in_cell ? cell(part).small : blocks + used % shape.blocks * shape.block;
  }

  RingShape shape;
  Head* head = nullptr;
  Cell<Memory>* cells = nullptr;
  std::byte* blocks = nullptr;
};

template <class Memory = RealMemory> class RingWriter {
 public:
  RingWriter() = default;
  RingWriter(void* memory, const RingShape& shape) : ring_(memory, shape), used_by_(shape.cells) {}

  // The bytes of a message that fit into the next part.
  std::size_t part_of(std::size_t left) const { return std::min<std::size_t>(left, ring_.shape.block); }
  bool has_room(std::size_t part) {
    if (fits(part)) return true;
    taken_ = ring_.head->taken.load(std::memory_order_acquire);
    if (taken_ > 0) freed_ = used_by_[(taken_ - 1) % ring_.shape.cells];
    return fits(part);
  }

  // Requires: has_room().
  void write(std::uint64_t tag, std::uint64_t total, std::span<const std::byte> part, bool last) {
    Cell<Memory>& cell = ring_.cell(next_);
    if (!part.empty()) Memory::copy(ring_.place(next_, used_, part.size()), part.data(), part.size());
    if (part.size() > in_cell) ++used_;
    used_by_[next_ % ring_.shape.cells] = used_;
    cell.head = {tag, total, static_cast<std::uint32_t>(part.size()), last ? 1U : 0U};
    cell.turn.store(++next_, std::memory_order_release);
  }

 private:
  bool fits(std::size_t part) const {
    return next_ - taken_ < ring_.shape.cells && (part <= in_cell || used_ - freed_ < ring_.shape.blocks);
  }

  RingMemory<Memory> ring_;
  std::uint64_t next_ = 0;             // the next part to write
  std::uint64_t taken_ = 0;            // as last read
  std::uint64_t used_ = 0, freed_ = 0; // blocks used by all parts, and by taken parts
  std::vector<std::uint64_t> used_by_; // blocks used up to each part in a cell
};

template <class Memory = RealMemory> class RingReader {
 public:
  struct Part {
    PartHead head;
    std::span<const std::byte> bytes;
    bool whole = true; // false: its head is invalid
  };

  RingReader() = default;
  RingReader(void* memory, const RingShape& shape) : ring_(memory, shape) {}

  bool has_part() const { return ring_.cell(next_).turn.load(std::memory_order_acquire) == next_ + 1; }
  // Requires: has_part().
  Part part() const {
    Part part{ring_.cell(next_).head, {}, true};
    if (part.head.size > std::max<std::size_t>(in_cell, ring_.shape.block) || part.head.size > part.head.total)
      return {part.head, {}, false};
    part.bytes = {ring_.place(next_, used_, part.head.size), part.head.size};
    return part;
  }
  // Finishes `part`. True: the writer was notified of free room.
  bool done(const Part& part) {
    ++next_;
    if (part.bytes.size() > in_cell) ++used_;
    const bool much = next_ - told_ >= std::max(1U, ring_.shape.cells / 4) ||
                      used_ - told_used_ >= std::max(1U, ring_.shape.blocks / 4);
    return much && tell();
  }
  // Reports the finished parts to the writer; false: it knows them.
  bool tell() {
    if (told_ == next_) return false;
    told_ = next_;
    told_used_ = used_;
    ring_.head->taken.store(next_, std::memory_order_release);
    return true;
  }

 private:
  RingMemory<Memory> ring_;
  std::uint64_t next_ = 0; // the next part to read
  std::uint64_t used_ = 0; // blocks used by earlier parts
  std::uint64_t told_ = 0, told_used_ = 0;
};

} // namespace dlhost::plugins::shm
