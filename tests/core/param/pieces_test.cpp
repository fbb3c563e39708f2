// Pieces of a row in one message, as a neighbour leaves them: what is none is told.
#include <array>
#include <cstring>

#include <gmock/gmock.h>

#include "param/codec/pieces.h"

namespace dlhost::param {
namespace {

class PiecesTest : public testing::Test {
 protected:
  PiecesTest() : message_(before_pieces(2) + piece_lines(5) + piece_lines(16)) {
    const std::span all(message_);
    pieces_ = {EncodedPiece{10, 3, all.subspan(before_pieces(2), 5)},
               EncodedPiece{13, 1, all.subspan(before_pieces(2) + piece_lines(5), 16)}};
    write_heads(message_, pieces_);
  }
  void set(std::size_t place, std::uint64_t word) { std::memcpy(message_.data() + place, &word, sizeof word); }
  Code read(std::int64_t first = 10, std::int64_t count = 4) {
    const auto message = message_at(message_);
    if (!message.ok()) return message.status().code();
    return read_pieces(*message, first, count, read_).code();
  }

  std::vector<std::byte> message_;
  std::array<EncodedPiece, 2> pieces_;
  std::vector<EncodedPiece> read_;
};

TEST_F(PiecesTest, AreReadAsTheyWereWritten) {
  ASSERT_EQ(read(), Code::ok);
  ASSERT_EQ(read_.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read_[i].first, pieces_[i].first);
    EXPECT_EQ(read_[i].count, pieces_[i].count);
    EXPECT_EQ(read_[i].encoding.data(), pieces_[i].encoding.data());
    EXPECT_EQ(read_[i].encoding.size(), pieces_[i].encoding.size());
  }
}

TEST_F(PiecesTest, AMessageMayBeOfNothing) {
  std::array<std::byte, before_pieces(0)> empty;
  write_heads(empty, {});
  EXPECT_TRUE(read_pieces(*message_at(empty), 5, 0, read_).ok());
  EXPECT_FALSE(read_pieces(*message_at(empty), 5, 1, read_).ok());
}

TEST_F(PiecesTest, OtherElementsThanAreAwaitedAreToldOf) {
  for (const auto& [first, count] : {std::pair{9, 4}, {10, 3}, {10, 5}, {13, 1}, {11, 3}})
    EXPECT_EQ(read(first, count), Code::corrupt) << first << ", " << count;
}

// Of each word of the heads, values that lead out of the message or of the row.
TEST_F(PiecesTest, NothingInThemIsBelieved) {
  const auto good = message_;
  for (std::size_t place = 0; place < 64; place += 8)
    for (const std::uint64_t word :
         {std::uint64_t{0}, std::uint64_t{1000}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
      message_ = good;
      set(place, word);
      const bool shorter = (place == 32 || place == 56) && word == 0; // bytes of a piece: its codec sees to that
      EXPECT_EQ(read(), shorter ? Code::ok : Code::corrupt) << place << ": " << word;
    }
  EXPECT_FALSE(message_at(std::span(good).first(7)).ok());
  EXPECT_FALSE(message_at(std::span(good).first(good.size() - 1)).ok());
}

} // namespace
} // namespace dlhost::param
