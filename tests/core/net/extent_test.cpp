#include "net/extent.h"

#include <gmock/gmock.h>

namespace dlhost::net {
namespace {

using testing::HasSubstr;

constexpr std::int64_t half = std::int64_t{1} << 24; // of the most: 48 bits

TEST(Extent, EveryAxisNeedsAnElement) {
  EXPECT_TRUE(check_extent({}).ok());
  EXPECT_TRUE(check_extent({1, 7}).ok());
  EXPECT_THAT(check_extent({3, 0}).message(), HasSubstr("every axis needs an element"));
  EXPECT_THAT(check_extent({-1, -1}).message(), HasSubstr("every axis needs an element"));
}

TEST(Extent, ProductsDoNotOverflow) {
  EXPECT_TRUE(check_extent({half, half}).ok());
  EXPECT_THAT(check_extent({half, half + 1}).message(), HasSubstr("more elements than any machine holds"));
  EXPECT_THAT(check_extent({half, half, half, half}).message(), HasSubstr("more elements")); // 0 in 64 bits
}

} // namespace
} // namespace dlhost::net
