#include <dlhost/random.h>

#include <gtest/gtest.h>

namespace dlhost {
namespace {

// The known answers that its authors publish (Random123, kat_vectors).
TEST(Random, IsPhilox) {
  using Block = Philox::Block;
  EXPECT_EQ(Philox::block(0, {}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox::block(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox::block(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, AUniformNumberIsBelowOne) {
  EXPECT_EQ(unit_float(0), 0.0F);
  EXPECT_LT(unit_float(0xffffffff), 1.0F);
}

TEST(Random, ASequenceIsThatOfTheElements) {
  const DrawKey key{5, 9};
  Random random(key, 3, 2);
  for (std::uint64_t element = 0; element < 9; ++element) EXPECT_EQ(random.uniform(), draw(key, 3, 2, element));
}

} // namespace
} // namespace dlhost
