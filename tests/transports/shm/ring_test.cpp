// The ring in every order of its two sides' accesses, and with the death of either side at every point.
#include "ring.h"

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "interleaving.h"

namespace dlhost::test {
namespace {

using namespace plugins::shm;

// Lets the other side in before every access; a copy is two accesses, so that a torn one shows.
struct TracedMemory {
  class Word {
   public:
    explicit Word(std::uint64_t value) : value_(value) {}
    std::uint64_t load(std::memory_order) const {
      Interleaving::access();
      return value_;
    }
    void store(std::uint64_t value, std::memory_order) {
      Interleaving::access();
      value_ = value;
      Interleaving::changed();
    }

   private:
    std::uint64_t value_;
  };
  static void copy(void* to, const void* from, std::size_t bytes) {
    const std::size_t half = bytes / 2;
    Interleaving::access();
    std::memcpy(to, from, half);
    Interleaving::access();
    std::memcpy(static_cast<std::byte*>(to) + half, static_cast<const std::byte*>(from) + half, bytes - half);
  }
};

// One cell can be full, written over and read late; more cells have more orders than a test can try.
constexpr RingShape small{.cells = 1, .blocks = 1, .block = 128};

// Parts by their number; every second is too large for its cell.
std::vector<std::byte> part_of(std::uint64_t number) {
  return std::vector<std::byte>(number % 2 == 1 ? 120 : 16, static_cast<std::byte>(number + 1));
}

class RingTest : public testing::Test {
 protected:
#ifdef __SANITIZE_THREAD__ // the sanitizer does not know contexts, and both sides run on one thread
  void SetUp() override { GTEST_SKIP() << "both sides run on one thread: there is nothing for this sanitizer"; }
#endif

  // Runs `parts` through a ring, in every order.
  long explore(std::uint64_t parts, Interleaving::Death death) {
    return Interleaving::explore([this] { begin(); }, [this, parts] { write(parts); }, [this, parts] { read(parts); },
                                 [this, parts, death] { end(parts, death); }, death);
  }

  std::uint64_t got = 0, written = 0;

 private:
  void begin() {
    memory_.assign(RingMemory<TracedMemory>::bytes(small) + 64, std::byte{});
    auto* start = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory_.data()) + 63) / 64 * 64);
    RingMemory<TracedMemory>::make(start, small);
    writer_ = {start, small};
    reader_ = {start, small};
    got = written = 0;
  }
  void write(std::uint64_t parts) {
    while (written < parts) {
      const auto part = part_of(written);
      while (!writer_.has_room(part.size())) Interleaving::wait();
      writer_.write(written, part.size(), part, true);
      ++written;
    }
  }
  void read(std::uint64_t parts) {
    while (got < parts) {
      while (!reader_.has_part()) {
        reader_.tell();
        if (reader_.has_part()) break;
        Interleaving::wait();
      }
      const auto part = reader_.part();
      ASSERT_TRUE(part.whole);
      ASSERT_EQ(part.head.tag, got) << "out of order, or twice";
      std::vector<std::byte> bytes(part.bytes.size());
      TracedMemory::copy(bytes.data(), part.bytes.data(), bytes.size());
      ASSERT_EQ(bytes, part_of(got)) << "torn, or written over before it was read";
      ++got;
      reader_.done(part);
    }
  }
  void end(std::uint64_t parts, Interleaving::Death death) {
    ASSERT_LE(got, parts);
    if (death.party == Interleaving::nobody) {
      ASSERT_EQ(got, parts) << "stuck";
    } else if (death.party == 0) {
      ASSERT_GE(got, written) << "what was written before the writer's death was not read";
    } else {
      ASSERT_LE(written, got + 1 + small.cells) << "written over what nobody has read";
    }
  }

  std::vector<std::byte> memory_;
  RingWriter<TracedMemory> writer_;
  RingReader<TracedMemory> reader_;
};

TEST_F(RingTest, EveryOrderDeliversAllPartsWholeAndInOrder) {
  const long orders = explore(2, {});
  RecordProperty("orders", std::to_string(orders));
  EXPECT_GT(orders, 1000);
}

TEST_F(RingTest, AWriterMayDieAtAnyPoint) {
  long orders = 0;
  for (int after = 0; after < 8; ++after) orders += explore(2, {.party = 0, .after = after});
  RecordProperty("orders", std::to_string(orders));
  EXPECT_GT(orders, 1000);
}

TEST_F(RingTest, AReaderMayDieAtAnyPoint) {
  long orders = 0;
  for (int after = 0; after < 9; ++after) orders += explore(2, {.party = 1, .after = after});
  RecordProperty("orders", std::to_string(orders));
  EXPECT_GT(orders, 1000);
}

// More cells than blocks, small and large parts: each finds its own block, and the writer stops if either is full.
TEST(RingPartTest, SmallPartsAndLargeShareARing) {
  constexpr RingShape shape{.cells = 4, .blocks = 2, .block = 128};
  alignas(64) std::byte memory[4096] = {};
  ASSERT_LE(RingMemory<RealMemory>::bytes(shape), sizeof memory);
  RingMemory<RealMemory>::make(memory, shape);
  RingWriter<> writer(memory, shape);
  RingReader<> reader(memory, shape);
  std::mt19937 random(1);
  std::deque<std::vector<std::byte>> under_way;
  std::size_t sent = 0, full_of_cells = 0, full_of_blocks = 0;
  const auto is_large = [](const auto& part) { return part.size() > in_cell; };
  while (sent < 10'000) {
    if (random() % 2 == 0) {
      const std::vector<std::byte> part(random() % 129, static_cast<std::byte>(random()));
      const auto large = std::ranges::count_if(under_way, is_large);
      if (!writer.has_room(part.size())) {
        full_of_cells += under_way.size() == shape.cells ? 1 : 0;
        full_of_blocks += large == shape.blocks && is_large(part) ? 1 : 0;
        continue;
      }
      ASSERT_LT(under_way.size(), shape.cells);
      ASSERT_TRUE(large < shape.blocks || !is_large(part));
      writer.write(sent++, part.size(), part, true);
      under_way.push_back(part);
    } else if (under_way.empty()) {
      ASSERT_FALSE(reader.has_part());
      reader.tell();
    } else {
      ASSERT_TRUE(reader.has_part());
      const auto part = reader.part();
      ASSERT_TRUE(part.whole);
      ASSERT_EQ(part.head.tag, sent - under_way.size());
      ASSERT_TRUE(std::ranges::equal(part.bytes, under_way.front())) << "part " << part.head.tag;
      reader.done(part);
      under_way.pop_front();
    }
  }
  EXPECT_GT(full_of_cells, 10U);
  EXPECT_GT(full_of_blocks, 10U);
}

// A head with a size beyond a part's comes from a broken writer, and is rejected.
TEST(RingPartTest, AWrongHeadIsSeen) {
  alignas(64) std::byte memory[8192] = {};
  RingMemory<RealMemory>::make(memory, small);
  RingWriter<> writer(memory, small);
  RingReader<> reader(memory, small);
  writer.write(1, 16, part_of(0), true);
  RingMemory<RealMemory>(memory, small).cells[0].head.size = 4096;
  ASSERT_TRUE(reader.has_part());
  EXPECT_FALSE(reader.part().whole);
}

} // namespace
} // namespace dlhost::test
