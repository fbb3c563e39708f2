#include "param/message/bundle.h"

#include <array>
#include <vector>

#include <gmock/gmock.h>

namespace dlhost::param {
namespace {

using testing::ElementsAreArray;

std::array<std::byte, message_bytes> message(std::uint64_t step) {
  std::array<std::byte, message_bytes> bytes;
  write({.body = to_worker::Done{.step = step}}, bytes);
  return bytes;
}

std::uint64_t step_in(std::span<const std::byte> bytes) {
  return find_message<to_worker::Done>(read_message(bytes)->body)->step;
}

class BundleTest : public testing::Test {
 protected:
  BundleTest() : room_(bundle_bytes, std::byte{0xff}) {
    for (std::size_t i = 0; i < enclosed_.size(); ++i) enclosed_[i] = static_cast<std::byte>(i);
  }

  std::vector<std::byte> room_;
  std::array<std::byte, 13> enclosed_;
};

TEST_F(BundleTest, IsReadAsItWasFilled) {
  Bundle bundle(room_);
  bundle.add(message(7), {.mirror = 3, .offset = 1ULL << 40, .bytes = enclosed_});
  bundle.add(message(8), {});
  BundleReader reader(bundle.written());
  const auto first = reader.next();
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(step_in(first->message), 7U);
  EXPECT_EQ(first->enclosure.mirror, 3U);
  EXPECT_EQ(first->enclosure.offset, 1ULL << 40);
  EXPECT_THAT(first->enclosure.bytes, ElementsAreArray(enclosed_));
  const auto second = reader.next();
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(step_in(second->message), 8U);
  EXPECT_TRUE(second->enclosure.bytes.empty());
  EXPECT_TRUE(reader.at_end());
}

TEST_F(BundleTest, IsFullWhenTheNextDoesNotFit) {
  Bundle bundle(room_);
  std::size_t count = 0;
  for (; bundle.fits(0); ++count) bundle.add(message(count), {});
  EXPECT_EQ(count, bundle_bytes / Bundle::bytes_of(0));
  EXPECT_LE(bundle.written().size(), bundle_bytes);
  EXPECT_GE(bundle_bytes, Bundle::bytes_of(most_enclosed)); // else some would never be sent
}

TEST_F(BundleTest, CutOffAnywhereItIsRefused) {
  Bundle bundle(room_);
  bundle.add(message(7), {.mirror = 0, .offset = 0, .bytes = enclosed_});
  for (std::size_t bytes = 1; bytes < bundle.written().size(); ++bytes)
    EXPECT_EQ(BundleReader(bundle.written().first(bytes)).next().status().code(), Code::corrupt) << bytes;
}

TEST_F(BundleTest, LengthsThatCannotBeAreRefused) {
  Bundle bundle(room_);
  bundle.add(message(7), {.mirror = 0, .offset = 0, .bytes = enclosed_});
  for (const unsigned char high : {0x7f, 0xff, 0x01}) {
    room_[7] = std::byte{high}; // of the count
    EXPECT_EQ(BundleReader(room_).next().status().code(), Code::corrupt);
  }
}

} // namespace
} // namespace dlhost::param
