// Who may read a file that holds a job's secret.
#include "env/secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlhost::env {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t unnamed = 3'000'000'001, foreign = 3'000'000'002; // numbers without a name

std::string told(std::uint32_t owner, std::uint32_t group, std::uint32_t mode, bool in_group) {
  return others_who_may_read("secret", {owner, group, mode}, in_group);
}

TEST(SecretFile, OfItsOwnerAlone) {
  for (const bool in_group : {false, true})
    for (const std::uint32_t mode : {0600u, 0400u, 0100400u}) EXPECT_EQ(told(unnamed, foreign, mode, in_group), "");
}

TEST(SecretFile, EveryoneMayReadIt) {
  for (const std::uint32_t mode : {0644u, 0604u, 0444u})
    EXPECT_EQ(told(0, 0, mode, true), "secret: every user of this machine may read this file, and it holds a job's "
                                      "secret: chmod 600 secret");
}

TEST(SecretFile, TheOwnersOwnGroupMayReadIt) {
  EXPECT_EQ(told(unnamed, unnamed, 0640, false), "");
  EXPECT_EQ(told(0, 0, 0440, false), "");
}

TEST(SecretFile, AnotherGroupMayReadIt) {
  // Also a group of this process: all its members know the secret.
  for (const bool in_group : {false, true})
    EXPECT_EQ(told(unnamed, foreign, 0640, in_group), "secret: the group 3000000002 may read this file, and it "
                                                      "holds a job's secret: chmod 600 secret");
}

TEST(SecretFile, OfRootForAGroupOfThisProcess) { // Kubernetes with fsGroup
  EXPECT_EQ(told(0, foreign, 0440, true), "");
  EXPECT_THAT(told(0, foreign, 0440, false), HasSubstr("or run dlhost in this group"));
}

} // namespace
} // namespace dlhost::env
