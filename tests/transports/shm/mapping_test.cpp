// Segments of one process: all openings of a segment have one address.
#include <unistd.h>

#include <gtest/gtest.h>

#include "segment.h"

namespace dlhost::test {
namespace {

using namespace plugins::shm;

std::string name() { return concat(prefix_of_user(), getpid(), "-mapping_test"); }

TEST(MappingTest, IsOneForAllWhoOpenASegment) {
  const auto made = Segment::make(name(), 10000);
  ASSERT_TRUE(made.ok()) << made.status().message();
  static_cast<char*>(made->data())[9999] = 7;
  const auto opened = Segment::open(name()), again = Segment::open(name());
  ASSERT_TRUE(opened.ok() && again.ok());
  EXPECT_EQ(opened->data(), made->data());
  EXPECT_EQ(again->data(), made->data());
  EXPECT_EQ(opened->size(), 10000U);
}

TEST(MappingTest, OutlivesItsMaker) {
  auto made = Segment::make(name(), 100);
  ASSERT_TRUE(made.ok()) << made.status().message();
  static_cast<char*>(made->data())[99] = 7;
  const auto opened = Segment::open(name());
  ASSERT_TRUE(opened.ok());
  *made = Segment();
  EXPECT_EQ(static_cast<char*>(opened->data())[99], 7);
  EXPECT_EQ(Segment::open(name()).status().code(), Code::not_found) << "its name went with its maker";
}

TEST(MappingTest, ANameThatIsGivenAnewIsOtherMemory) {
  auto old = Segment::make(name(), 100);
  ASSERT_TRUE(old.ok()) << old.status().message();
  static_cast<char*>(old->data())[0] = 7;
  old->remove_name();
  const auto made = Segment::make(name(), 100);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_NE(made->data(), old->data());
  EXPECT_EQ(static_cast<char*>(made->data())[0], 0);
}

} // namespace
} // namespace dlhost::test
